import { type RawBuilder, sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { findChain } from "../chains.ts";
import { toBytes, toHex } from "../db/bytes.ts";
import { sealCursor } from "../db/cursor.ts";
import { factsOf } from "../nfts/item.ts";
import { type ContractRecord, contractColumns, type NftRow, recordOfRow } from "../nfts/nft-record.ts";
import { boundsOf, type Page, type PageBounds, type PageRequest, pageOf, refuseTooDeep } from "../nfts/page.ts";
import { type Outcome, pagesForEach, readForEach, single } from "../nfts/read-for-each.ts";
import type { Services } from "../services.ts";

export interface ListAccountContractsInput {
  chain: string;
  /** Any letter case. */
  account: string;
  page: PageRequest;
}

/** A contract and how many of its tokens the account holds: token ids, not amounts. */
export interface HeldContract {
  contract: ContractRecord;
  holdingCount: bigint;
}

export interface HeldContractPage extends Page<HeldContract> {
  /** Contracts on all pages. */
  total: bigint;
}

/**
 * The contracts of which an account owns a token, by address. An index skip scan goes from contract to contract, so a
 * page costs its contracts, not the account's tokens.
 */
export async function listAccountContracts(
  services: Services,
  caller: Caller,
  input: ListAccountContractsInput,
): Promise<HeldContractPage> {
  return single(await listContractsOfEachAccount(services, caller, input, [input.account]));
}

/** `listAccountContracts` for several accounts, in one statement. */
export async function listContractsOfEachAccount(
  services: Services,
  _caller: Caller,
  input: Omit<ListAccountContractsInput, "account">,
  accounts: readonly string[],
): Promise<Outcome<HeldContractPage>[]> {
  const chain = findChain(services.chains, input.chain);
  const listOf = (account: string) => `account-contracts:${chain.id}:${account.toLowerCase()}`;
  const open = (account: string) => boundsOf(input.page, services.config.keyPepper, listOf(account), 20);
  const facts = factsOf(services.config, input.chain, false);
  const read = async (wanted: readonly string[], bounds: PageBounds) =>
    await readForEach(
      services,
      wanted.map((account) => ({ account: toBytes(account) })),
      ({ account }) => contractsOf(chain.id, account, bounds),
      "read",
    );
  return await pagesForEach(accounts, open, read, (rows, account, bounds) => {
    const total = rows[0]?.total ?? 0n;
    refuseTooDeep(bounds, input.page, total);
    const page = pageOf(
      rows.flatMap(({ contract, ...row }) => (contract === null ? [] : [{ ...row, contract }])),
      bounds,
      (row) => {
        const contract = recordOfRow(facts, toHex(row.contract), row);
        if (!contract) throw new Error("a contract of which an account holds a token is not in the index");
        return {
          node: { contract, holdingCount: row.holding_count ?? 0n },
          cursor: sealCursor(services.config.keyPepper, listOf(account), row.contract),
        };
      },
    );
    return { ...page, total };
  });
}

function contractsOf(chainId: number, owner: RawBuilder<unknown>, bounds: PageBounds) {
  const [operator, direction] = bounds.backward ? [sql.raw("<"), sql.raw("DESC")] : [sql.raw(">"), sql.raw("ASC")];
  const next = (step: RawBuilder<unknown>, way: RawBuilder<unknown>) =>
    sql`SELECT n.contract FROM nft.holding_rows n
      WHERE n.chain_id = ${chainId} AND n.owner = ${owner} AND n.amount > 0 AND ${step}
      ORDER BY n.contract ${way} LIMIT 1`;
  const start = bounds.position ? sql`n.contract ${operator} ${bounds.position}` : sql`true`;
  return sql<Omit<NftRow, "item"> & { holding_count: bigint | null; total: bigint; contract: Buffer | null }>`
    WITH RECURSIVE page (contract, position) AS (
      (SELECT f.contract, 1 FROM (${next(start, direction)}) f)
      UNION ALL
      SELECT f.contract, page.position + 1 FROM page CROSS JOIN LATERAL (
        ${next(sql`n.contract ${operator} page.contract`, direction)}) f
      WHERE page.position < ${sql.lit(bounds.limit + bounds.offset)}),
    every (contract) AS (
      (${next(sql`true`, sql.raw("ASC"))})
      UNION ALL
      SELECT f.contract FROM every CROSS JOIN LATERAL (
        ${next(sql`n.contract > every.contract`, sql.raw("ASC"))}) f),
    totals AS (SELECT count(*) AS total FROM every)
    SELECT totals.total, p.contract,
      (SELECT count(*) FROM nft.holding_rows h WHERE h.chain_id = ${chainId} AND h.owner = ${owner}
        AND h.amount > 0 AND h.contract = p.contract) AS holding_count,
      ${contractColumns("listed")}
    FROM totals
    LEFT JOIN (SELECT contract, position FROM page WHERE position > ${sql.lit(bounds.offset)}
      AND ${sql.lit(bounds.limit)} > 0) p ON true
    LEFT JOIN nft.contracts c ON c.chain_id = ${chainId} AND c.address = p.contract
    LEFT JOIN service.contract_metadata cm ON cm.chain_id = ${chainId} AND cm.address = p.contract
    ORDER BY p.position`;
}
