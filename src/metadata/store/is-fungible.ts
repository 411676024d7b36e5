import type { Kysely } from "kysely";
import type { Hex } from "viem";
import { toHex } from "../../db/bytes.ts";
import type { Database } from "../../db/database.ts";
import { type Fault, isFault } from "../../outbound/fault.ts";

/** `decimals()`, and `supportsInterface` for ERC-721. */
const decimalsCall: Hex = "0x313ce567";
const supports721Call: Hex = `0x01ffc9a780ac58cd${"0".repeat(56)}`;
/** More than one token: a single one may have been burned since the index read it. */
const askedTokens = 3;
/** The tokens are taken from this many of the newest movements. */
const newestMovements = 100;
const nobody = Buffer.alloc(20);

interface Asked {
  chainId: number;
  address: Buffer;
  /** The result of the previous reading. */
  fungible: boolean | null;
}

/**
 * Whether a contract is an ERC-20 that indexes the value of its transfers, so that its logs look like ERC-721's: it has
 * decimals, does not claim to be ERC-721, and has no owner for some tokens that its logs assigned to holders.
 *
 * @returns null if this is unknown.
 */
export async function isFungible(
  db: Kysely<Database>,
  ask: (data: Hex) => Promise<{ data: Buffer } | Fault>,
  contract: Asked,
): Promise<boolean | null> {
  const decimals = await ask(decimalsCall);
  if (isFault(decimals)) return isSilence(decimals) ? null : false;
  const places = wordOf(decimals.data);
  if (places === null || places === 0n || places > 77n) return false;
  const live = await liveTokens(db, contract);
  // A contract that was left out has no tokens in the index, and may have been taken for an ERC-20 by mistake.
  const tokens = live.length === 0 && contract.fungible ? await leftOutTokens(db, contract) : live;
  if (tokens.length === 0) return null;
  const [claim, ...owners] = await Promise.all([
    ask(supports721Call),
    ...tokens.map((token) => ask(`0x6352211e${BigInt(token).toString(16).padStart(64, "0")}`)),
  ]);
  if ([claim, ...owners].some(isSilence)) return null;
  const claims = !isFault(claim) && wordOf(claim.data) === 1n;
  return !claims && owners.every((owner) => isFault(owner) || (wordOf(owner.data) ?? 0n) === 0n);
}

async function liveTokens(db: Kysely<Database>, { chainId, address }: Asked): Promise<string[]> {
  const rows = await db
    .selectFrom("nft.tokens")
    .select("token_id")
    .where("chain_id", "=", chainId)
    .where("contract", "=", address)
    .where("standard", "=", "ERC721")
    .where("supply", ">", "0")
    .limit(askedTokens)
    .execute();
  return rows.map(({ token_id }) => token_id);
}

async function leftOutTokens(db: Kysely<Database>, { chainId, address }: Asked): Promise<string[]> {
  const rows = await db
    .selectFrom("nft.transfer_rows")
    .select(["token_id", "to_address"])
    .where("chain_id", "=", chainId)
    .where("contract", "=", address)
    .where("standard", "=", "ERC721")
    .orderBy("block_number", "desc")
    .orderBy("log_index", "desc")
    .orderBy("batch_index", "desc")
    .limit(newestMovements)
    .execute();
  const holders = new Map<string, Buffer>();
  for (const { token_id, to_address } of rows) if (!holders.has(token_id)) holders.set(token_id, to_address);
  return [...holders].flatMap(([token, holder]) => (holder.equals(nobody) ? [] : [token])).slice(0, askedTokens);
}

/** The single word that a call returned; null for anything else. */
function wordOf(data: Buffer): bigint | null {
  return data.length === 32 ? BigInt(toHex(data)) : null;
}

/** Whether the node was silent or slow: then nothing is known about the contract. */
export function isSilence(answer: object): answer is Fault {
  return isFault(answer) && (answer.fault === "rpc_unavailable" || answer.fault === "call_timeout");
}
