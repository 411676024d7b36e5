import { type RawBuilder, sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { findChain } from "../chains.ts";
import { toBytes, toHex } from "../db/bytes.ts";
import { sealCursor } from "../db/cursor.ts";
import { ledgerPosition, packPosition, positionLength, unpackPosition } from "../db/position.ts";
import type { Standard, TransferView } from "../db/tables/nft.ts";
import { boundsOf, type Page, type PageBounds, type PageRequest, pageOf, refuseTooDeep } from "../nfts/page.ts";
import {
  type KeyColumns,
  lightOffset,
  type Outcome,
  pagesForEach,
  readForEach,
  single,
} from "../nfts/read-for-each.ts";
import type { Services } from "../services.ts";

/** `mint`: from the zero address. `burn`: to it. */
type TransferKind = "transfer" | "mint" | "burn";

/** A transfer of one token; a batch is one record per token id. Addresses and hashes are lower case. */
export interface Transfer {
  /** As spelled in the request. */
  chain: string;
  kind: TransferKind;
  contract: string;
  tokenId: bigint;
  standard: Standard;
  from: string;
  to: string;
  /** The ERC-1155 operator; null for ERC-721. */
  operator: string | null;
  amount: bigint;
  transactionHash: string;
  /** The transaction's sender. */
  sender: string;
  blockHash: string;
  blockNumber: bigint;
  /** Unix seconds. */
  blockTimestamp: bigint;
  logIndex: number;
  batchIndex: number;
}

/** Requested kinds. The last two are as seen from an account; `transfer` means both directions. */
export type TransferWord = "transfer" | "mint" | "burn" | "transfer_from" | "transfer_to";

export interface ListTransfersInput {
  chain: string;
  /** Transfers from or to this account. Any letter case, like `contract`. */
  account?: string | undefined;
  contract?: string | undefined;
  /** Only with `contract`. */
  tokenId?: bigint | undefined;
  /** Empty: nothing matches. Absent: all kinds. */
  kinds?: readonly TransferWord[] | undefined;
  /** Both bounds are inclusive. */
  fromBlock?: bigint | undefined;
  toBlock?: bigint | undefined;
  /** Unix seconds; both bounds are inclusive. */
  since?: bigint | undefined;
  until?: bigint | undefined;
  page: PageRequest;
}

/** The subject of a list; all keys of a call have the same members. */
export type TransferKey = Pick<ListTransfersInput, "account" | "contract" | "tokenId">;

/** Transfers, newest first: by block, log index, and index inside the log. An unknown address has none. */
export async function listTransfers(
  services: Services,
  caller: Caller,
  input: ListTransfersInput,
): Promise<Page<Transfer>> {
  return single(await listTransfersOfEach(services, caller, input, [input]));
}

/** `listTransfers` for several accounts, contracts or tokens of a chain, in one statement. */
export async function listTransfersOfEach(
  services: Services,
  _caller: Caller,
  input: Omit<ListTransfersInput, keyof TransferKey>,
  keys: readonly TransferKey[],
): Promise<Outcome<Page<Transfer>>[]> {
  const chain = findChain(services.chains, input.chain);
  const listOf = ({ account, contract, tokenId }: TransferKey) =>
    `transfers:${chain.id}:${[account, contract, tokenId].join(":").toLowerCase()}`;
  const open = (key: TransferKey) => {
    const bounds = boundsOf(input.page, services.config.keyPepper, listOf(key), positionLength(ledgerPosition));
    refuseTooDeep(bounds, input.page, null);
    return bounds;
  };
  const read = async (wanted: readonly TransferKey[], bounds: PageBounds) => {
    if (input.kinds?.length === 0) return wanted.map(() => []);
    return await readForEach(
      services,
      wanted.map(valuesOf),
      (columns) => transfersOf(chain.id, columns, input, bounds),
      bounds.offset > lightOffset ? "read" : "light",
    );
  };
  return await pagesForEach(keys, open, read, (rows, key, bounds) =>
    pageOf(rows, bounds, (row) => ({
      node: toTransfer(input.chain, row),
      cursor: sealCursor(
        services.config.keyPepper,
        listOf(key),
        packPosition(ledgerPosition, [row.block_number, row.log_index, row.batch_index]),
      ),
    })),
  );
}

function valuesOf({ account, contract, tokenId }: TransferKey) {
  return {
    ...(account === undefined ? {} : { account: toBytes(account) }),
    ...(contract === undefined ? {} : { contract: toBytes(contract) }),
    ...(tokenId === undefined ? {} : { token_id: String(tokenId) }),
  };
}

type Columns = KeyColumns<ReturnType<typeof valuesOf>>;

function transfersOf(
  chainId: number,
  key: Columns,
  input: Omit<ListTransfersInput, keyof TransferKey>,
  bounds: PageBounds,
) {
  const shared = [sql`x.chain_id = ${chainId}`, ...rangeOf(chainId, input), ...beyond(bounds)];
  if (key.contract) shared.push(sql`x.contract = ${key.contract}`);
  if (key.token_id) shared.push(sql`x.token_id = ${key.token_id}`);
  const direction = sql.raw(bounds.backward ? "ASC" : "DESC");
  const order = sql`block_number ${direction}, log_index ${direction}, batch_index ${direction}`;
  // Each arm is one scan of one index; the page is the newest rows of all arms.
  const arms = armsOf(key, input.kinds).map(
    (conditions) =>
      sql`(SELECT x.* FROM nft.transfers x WHERE ${sql.join([...shared, ...conditions], sql` AND `)}
        ORDER BY ${order} LIMIT ${sql.lit(bounds.limit + bounds.offset)})`,
  );
  return sql<TransferView>`
    SELECT * FROM (${sql.join(arms, sql` UNION ALL `)}) moved
    ORDER BY ${order} LIMIT ${sql.lit(bounds.limit)} OFFSET ${sql.lit(bounds.offset)}`;
}

/** Disjoint conditions that together select the requested kinds; a single index answers each of them in order. */
function armsOf({ account }: Columns, kinds: readonly TransferWord[] | undefined): RawBuilder<unknown>[][] {
  const asked = new Set(kinds ?? (["mint", "burn", "transfer"] as const));
  const [mint, notMint] = [sql`x.from_address = ${zeroAddress}`, sql`x.from_address <> ${zeroAddress}`];
  const [burn, notBurn] = [sql`x.to_address = ${zeroAddress}`, sql`x.to_address <> ${zeroAddress}`];
  if (account === undefined) {
    const moved = asked.has("transfer") || asked.has("transfer_from") || asked.has("transfer_to");
    if (asked.has("mint") && asked.has("burn") && moved) return [[]];
    return [
      ...(asked.has("mint") ? [[mint]] : []),
      // A transfer from the zero address to itself counts as a mint here, as everywhere.
      ...(asked.has("burn") ? [[burn, notMint]] : []),
      ...(moved ? [[notMint, notBurn]] : []),
    ];
  }
  const [sent, received] = [sql`x.from_address = ${account}`, sql`x.to_address = ${account}`];
  const out = asked.has("transfer") || asked.has("transfer_from");
  const into = asked.has("transfer") || asked.has("transfer_to");
  const outgoing = kindsIn([
    [out, notBurn],
    [asked.has("burn"), burn],
  ]);
  const incoming = kindsIn([
    [into, notMint],
    [asked.has("mint"), mint],
  ]);
  return [
    ...outgoing.map((conditions) => [sent, notMint, ...conditions]),
    // An account's transfer to itself belongs to the first arm, if that arm includes it.
    ...incoming.map((conditions) => [
      received,
      ...(out ? [sql`x.from_address <> ${account}`] : []),
      notBurn,
      ...conditions,
    ]),
  ];
}

/** One arm for both of two opposite conditions, one for either of them, none for neither. */
function kindsIn(parts: readonly [boolean, RawBuilder<unknown>][]): RawBuilder<unknown>[][] {
  const wanted = parts.filter(([asked]) => asked).map(([, condition]) => condition);
  if (wanted.length === 0) return [];
  return [wanted.length === parts.length ? [] : wanted];
}

/** Times become block numbers, so that the index that gives the order also bounds the scan. */
function rangeOf(chainId: number, input: Omit<ListTransfersInput, keyof TransferKey>): RawBuilder<unknown>[] {
  const { fromBlock, toBlock, since, until } = input;
  const edge = (bound: RawBuilder<unknown>, direction: "ASC" | "DESC") =>
    sql`(SELECT b.block_number FROM nft.transfers b WHERE b.chain_id = ${chainId} AND b.block_timestamp ${bound}
      ORDER BY b.block_timestamp ${sql.raw(direction)}, b.block_number ${sql.raw(direction)} LIMIT 1)`;
  return [
    ...(fromBlock === undefined ? [] : [sql`x.block_number >= ${fromBlock}::bigint`]),
    ...(toBlock === undefined ? [] : [sql`x.block_number <= ${toBlock}::bigint`]),
    ...(since === undefined ? [] : [sql`x.block_number >= ${edge(sql`>= ${since}::bigint`, "ASC")}`]),
    ...(until === undefined ? [] : [sql`x.block_number <= ${edge(sql`<= ${until}::bigint`, "DESC")}`]),
  ];
}

function beyond(bounds: PageBounds): RawBuilder<unknown>[] {
  if (!bounds.position) return [];
  const [block, log, batch] = unpackPosition(ledgerPosition, bounds.position);
  const operator = sql.raw(bounds.backward ? ">" : "<");
  return [
    sql`(x.block_number, x.log_index, x.batch_index) ${operator} (${block}::bigint, ${log}::integer, ${batch}::integer)`,
  ];
}

const zeroAddress = Buffer.alloc(20);

function toTransfer(chain: string, row: TransferView): Transfer {
  const kind = row.from_address.equals(zeroAddress) ? "mint" : row.to_address.equals(zeroAddress) ? "burn" : "transfer";
  return {
    chain,
    kind,
    contract: toHex(row.contract),
    tokenId: BigInt(row.token_id),
    standard: row.standard,
    from: toHex(row.from_address),
    to: toHex(row.to_address),
    operator: row.operator && toHex(row.operator),
    amount: BigInt(row.amount),
    transactionHash: toHex(row.tx_hash),
    sender: toHex(row.tx_from),
    blockHash: toHex(row.block_hash),
    blockNumber: row.block_number,
    blockTimestamp: row.block_timestamp,
    logIndex: row.log_index,
    batchIndex: row.batch_index,
  };
}
