import { type RawBuilder, sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { findChain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import { sealCursor } from "../db/cursor.ts";
import { ledgerPosition, packPosition, positionLength, unpackPosition } from "../db/position.ts";
import type { TransferView } from "../db/tables/nft.ts";
import { lightOffset, readHeavy } from "../nfts/heavy-read.ts";
import { boundsOf, type Page, type PageBounds, type PageRequest, pageOf, refuseTooDeep } from "../nfts/page.ts";
import type { Services } from "../services.ts";
import { type Transfer, toTransfer, zeroAddress } from "./transfer-record.ts";

/** What may be asked for; the last three belong to an account: seen from it, in both directions without them. */
export type TransferWord = "transfer" | "mint" | "burn" | "transfer_from" | "transfer_to";

export interface ListTransfersInput {
  chain: string;
  /** What moved from or to this account. Any letter case, like `contract`. */
  account?: string | undefined;
  contract?: string | undefined;
  /** Only with `contract`. */
  tokenId?: bigint | undefined;
  /** Empty: nothing matches. Absent: all kinds. */
  kinds?: readonly TransferWord[] | undefined;
  /** Both ends belong to the range. */
  fromBlock?: bigint | undefined;
  toBlock?: bigint | undefined;
  /** Unix seconds; both ends belong to the range. */
  since?: bigint | undefined;
  until?: bigint | undefined;
  page: PageRequest;
}

/** Movements of tokens, newest first: block, log index, index inside the log. An unknown address has none. */
export async function listTransfers(
  services: Services,
  _caller: Caller,
  input: ListTransfersInput,
): Promise<Page<Transfer>> {
  const chain = findChain(services.chains, input.chain);
  const list = `transfers:${chain.id}:${[input.account, input.contract, input.tokenId].join(":").toLowerCase()}`;
  const bounds = boundsOf(input.page, services.config.keyPepper, list, positionLength(ledgerPosition));
  refuseTooDeep(bounds, input.page, null);
  const shared = [sql`x.chain_id = ${chain.id}`, ...rangeOf(chain.id, input), ...placeOf(bounds)];
  if (input.contract !== undefined) shared.push(sql`x.contract = ${toBytes(input.contract)}`);
  if (input.tokenId !== undefined) shared.push(sql`x.token_id = ${String(input.tokenId)}::numeric`);
  const direction = sql.raw(bounds.backward ? "ASC" : "DESC");
  const order = sql`block_number ${direction}, log_index ${direction}, batch_index ${direction}`;
  // Each arm is one walk of one index; the newest of all of them are the page.
  const arms = armsOf(input).map(
    (conditions) =>
      sql`(SELECT x.* FROM nft.transfers x WHERE ${sql.join([...shared, ...conditions], sql` AND `)}
        ORDER BY ${order} LIMIT ${sql.lit(bounds.limit + bounds.offset)})`,
  );
  if (arms.length === 0) return pageOf<never, never>([], bounds, (row) => row);
  const statement = sql<TransferView>`
    SELECT * FROM (${sql.join(arms, sql` UNION ALL `)}) moved
    ORDER BY ${order} LIMIT ${sql.lit(bounds.limit)} OFFSET ${sql.lit(bounds.offset)}`;
  const rows =
    bounds.offset > lightOffset
      ? await readHeavy(services, statement, "read")
      : (await statement.execute(services.index.db)).rows;
  return pageOf(rows, bounds, (row) => ({
    node: toTransfer(input.chain, row),
    cursor: sealCursor(
      services.config.keyPepper,
      list,
      packPosition(ledgerPosition, [row.block_number, row.log_index, row.batch_index]),
    ),
  }));
}

/** Disjoint conditions whose sum is what was asked for, each of which one index answers in order. */
function armsOf(input: ListTransfersInput): RawBuilder<unknown>[][] {
  const asked = new Set(input.kinds ?? (["mint", "burn", "transfer"] as const));
  const [mint, notMint] = [sql`x.from_address = ${zeroAddress}`, sql`x.from_address <> ${zeroAddress}`];
  const [burn, notBurn] = [sql`x.to_address = ${zeroAddress}`, sql`x.to_address <> ${zeroAddress}`];
  if (input.account === undefined) {
    const moved = asked.has("transfer") || asked.has("transfer_from") || asked.has("transfer_to");
    if (asked.has("mint") && asked.has("burn") && moved) return [[]];
    return [
      ...(asked.has("mint") ? [[mint]] : []),
      // A burn of what was never minted here counts as a mint, as everywhere.
      ...(asked.has("burn") ? [[burn, notMint]] : []),
      ...(moved ? [[notMint, notBurn]] : []),
    ];
  }
  const account = toBytes(input.account);
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
    // What an account sends to itself is in the first arm, when that one shows it.
    ...incoming.map((conditions) => [
      received,
      ...(out ? [sql`x.from_address <> ${account}`] : []),
      notBurn,
      ...conditions,
    ]),
  ];
}

/** One arm for both of two opposite conditions, one for one of them, none for none. */
function kindsIn(parts: readonly [boolean, RawBuilder<unknown>][]): RawBuilder<unknown>[][] {
  const wanted = parts.filter(([asked]) => asked).map(([, condition]) => condition);
  if (wanted.length === 0) return [];
  return [wanted.length === parts.length ? [] : wanted];
}

/** Times become blocks, so that the one index that gives the order also ends the walk. */
function rangeOf(chainId: number, input: ListTransfersInput): RawBuilder<unknown>[] {
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

function placeOf(bounds: PageBounds): RawBuilder<unknown>[] {
  if (!bounds.position) return [];
  const [block, log, batch] = unpackPosition(ledgerPosition, bounds.position);
  const operator = sql.raw(bounds.backward ? ">" : "<");
  return [
    sql`(x.block_number, x.log_index, x.batch_index) ${operator} (${block}::bigint, ${log}::integer, ${batch}::integer)`,
  ];
}
