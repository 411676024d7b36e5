import { sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { type Chain, findChain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import { withheldContracts } from "../db/withheld-token.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";

/** The text about a contract that the index has never seen. docs/indexing.md says which contracts it never sees. */
const noNftLogs =
  "no NFT is known of this address on this chain; contracts whose Transfer event is not ERC-721's (CryptoKitties, Axie) are not read";

/** The error for a contract that is not indexed, without looking up the reason (`whyNotIndexed`). */
export function unknownContract(): ServiceError {
  return new ServiceError("not_found", `not indexed: ${noNftLogs}`);
}

const messages = {
  /** `INDEX_SCOPE_<CHAIN>`. */
  OUT_OF_SCOPE: "this installation indexes other contracts of this chain only",
  FUNGIBLE: "this is an ERC-20 whose logs look like those of an NFT, because it indexes the value of its transfers",
  INDEX_BEHIND: "the index of this chain has not caught up; an NFT of this contract may be found later",
  NO_NFT_LOGS: noNftLogs,
} as const;

export type NotIndexedReason = keyof typeof messages;

export interface NotIndexed {
  reason: NotIndexedReason;
  message: string;
}

/** Why the index has nothing of a contract; null if it does have it. */
export async function whyNotIndexed(
  services: Services,
  _caller: Caller,
  key: { chain: string; address: string },
): Promise<NotIndexed | null> {
  const chain = findChain(services.chains, key.chain);
  const [row] = (await known(chain.id, toBytes(key.address)).execute(services.index.db)).rows;
  if (!row || row.indexed) return null;
  const lag = row.head === null ? null : Number(row.lag ?? 0n);
  const reason = reasonOf(chain, key.address.toLowerCase(), {
    ...row,
    behind: lag === null || lag > services.config.maxIndexLagBlocks,
  });
  return { reason, message: messages[reason] };
}

function reasonOf(
  { indexScope }: Chain,
  address: string,
  { fungible, launched, behind }: { fungible: boolean; launched: boolean; behind: boolean },
): NotIndexedReason {
  if (typeof indexScope !== "string" && !indexScope.some((one) => one.toLowerCase() === address)) return "OUT_OF_SCOPE";
  if (fungible) return "FUNGIBLE";
  if (behind) return "INDEX_BEHIND";
  return indexScope === "factory" && !launched ? "OUT_OF_SCOPE" : "NO_NFT_LOGS";
}

function known(chainId: number, address: Buffer) {
  const has = (from: string, column: string, more = sql``) =>
    sql<boolean>`EXISTS (SELECT FROM ${sql.raw(from)} k WHERE k.chain_id = ${chainId} AND k.${sql.ref(column)} = ${address}${more})`;
  return sql<{ indexed: boolean; fungible: boolean; launched: boolean; head: bigint | null; lag: bigint | null }>`
    SELECT ${has("nft.contracts", "address")} OR ${has(withheldContracts, "address")} AS indexed,
      ${has("nft.fungible_contracts", "contract", sql` AND k.below > 0`)} AS fungible, ${has("nft.collections", "address")} AS launched,
      (SELECT h.block_number FROM nft.heads h WHERE h.chain_id = ${chainId}) AS head,
      (SELECT f.node_head - f.indexed_block FROM service.chain_freshness f WHERE f.chain_id = ${chainId}) AS lag`;
}
