import { type RawBuilder, sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { findChain } from "../chains.ts";
import { bytesToUint, toBytes, uintToBytes } from "../db/bytes.ts";
import { sealCursor } from "../db/cursor.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import { fetchedAtMicros, listedContractColumns, listedMetadata, listedTokenColumns } from "./columns.ts";
import { lightOffset } from "./heavy-read.ts";
import {
  type ContractRecord,
  cachedBase,
  isPresent,
  type Nft,
  type NftParts,
  toContractRecord,
  toNft,
} from "./nft-record.ts";
import { boundsOf, type Page, type PageBounds, type PageRequest, pageOf, refuseTooDeep } from "./page.ts";
import { type Outcome, pagesForEach, readForEach, single } from "./read-for-each.ts";
import { type TraitFilter, traitCondition, traitExpression } from "./traits.ts";

export interface ListContractNftsInput {
  chain: string;
  /** Any letter case. */
  contract: string;
  /** Only tokens whose traits are like that. */
  traits?: TraitFilter | undefined;
  page: PageRequest;
  parts: NftParts;
}

export interface ContractNftPage extends Page<Nft> {
  contract: ContractRecord;
  /** Live tokens of the contract; null for a filtered list, where counting would cost more than the page. */
  total: bigint | null;
}

/**
 * The live tokens of a contract, by token id; burned ones are left out here and found by `getNft`.
 *
 * @throws ServiceError `not_found` for a contract the index has never seen.
 */
export async function listContractNfts(
  services: Services,
  caller: Caller,
  input: ListContractNftsInput,
): Promise<ContractNftPage> {
  return single(await listNftsOfEachContract(services, caller, input, [input.contract]));
}

/** The same for several contracts of a chain, in one statement. */
export async function listNftsOfEachContract(
  services: Services,
  _caller: Caller,
  input: Omit<ListContractNftsInput, "contract">,
  contracts: readonly string[],
): Promise<Outcome<ContractNftPage>[]> {
  const chain = findChain(services.chains, input.chain);
  const listOf = (contract: string) => `contract-nfts:${chain.id}:${contract.toLowerCase()}`;
  const open = (contract: string) => boundsOf(input.page, services.config.keyPepper, listOf(contract), 32);
  const read = async (wanted: readonly string[], bounds: PageBounds) =>
    await readForEach(
      services,
      wanted.map((contract) => ({ contract: toBytes(contract) })),
      ({ contract }) => nftsOf(services, chain.id, contract, input, bounds),
      // A filter may have to look at every token of the contract.
      input.traits || bounds.offset > lightOffset ? "read" : "light",
    );
  return await pagesForEach(contracts, open, read, (rows, contract, bounds) => {
    const [first] = rows;
    if (!first) throw new ServiceError("not_found", "no contract with NFTs is known at this address on this chain");
    refuseTooDeep(bounds, input.page, input.traits ? null : first.total);
    services.demand.contract(chain.id, contract);
    const record = toContractRecord(input.chain, first);
    const page = pageOf(rows.filter(isPresent), bounds, (row) => ({
      node: toNft(input.chain, cachedBase(services.config), row, record),
      cursor: sealCursor(services.config.keyPepper, listOf(contract), uintToBytes(BigInt(row.token_id), 32)),
    }));
    return { ...page, contract: record, total: input.traits ? null : first.total };
  });
}

function nftsOf(
  services: Services,
  chainId: number,
  contract: RawBuilder<Buffer>,
  { traits, parts }: Pick<ListContractNftsInput, "traits" | "parts">,
  bounds: PageBounds,
) {
  const direction = bounds.backward ? "desc" : "asc";
  // Only keys are selected where rows may be skipped by number: the join then touches one page.
  let keys = services.index.db
    .selectFrom("nft.tokens as k")
    .select("k.token_id")
    .where("k.chain_id", "=", chainId)
    .where("k.contract", "=", contract)
    .where("k.supply", ">", sql.lit("0"))
    .orderBy("k.token_id", direction)
    .limit(bounds.limit)
    .offset(bounds.offset);
  if (traits) keys = keys.where(traitExpression(traitCondition(chainId, contract, traits)));
  if (bounds.position) {
    keys = keys.where("k.token_id", bounds.backward ? "<" : ">", String(bytesToUint(bounds.position)));
  }

  return services.index.db
    .selectFrom("nft.contracts as c")
    .leftJoin("service.contract_metadata as cm", (join) =>
      join.on("cm.chain_id", "=", chainId).onRef("cm.address", "=", "c.address"),
    )
    .leftJoin(keys.as("k"), (join) => join.onTrue())
    .leftJoin("nft.tokens as t", (join) =>
      join.on("t.chain_id", "=", chainId).on("t.contract", "=", contract).onRef("t.token_id", "=", "k.token_id"),
    )
    .leftJoin("service.token_metadata as m", (join) =>
      join.on("m.chain_id", "=", chainId).on("m.contract", "=", contract).onRef("m.token_id", "=", "k.token_id"),
    )
    .select([...listedTokenColumns, fetchedAtMicros, ...listedContractColumns, "c.token_count as total"])
    .$if(parts.metadata, (query) => query.select(listedMetadata))
    .where("c.chain_id", "=", chainId)
    .where("c.address", "=", contract)
    .orderBy("k.token_id", direction);
}
