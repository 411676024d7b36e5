import { type Kysely, sql } from "kysely";
import type { Chain } from "../chains.ts";
import { toBytes, toHex } from "../db/bytes.ts";
import type { Database } from "../db/database.ts";
import type { DeploymentPayload } from "./deployment-payload.ts";
import type { Creation, HandedOut } from "./exact-creation.ts";

/** Requests that one round covers. */
const batch = 100;

type Row<T extends (...args: never[]) => Promise<readonly unknown[]>> = Awaited<ReturnType<T>>[number];
export type AwaitedRow = Row<typeof listAwaited>;
export type FoundRow = Row<typeof listFound>;

/** Those that nothing was found of, looked at longest ago first. */
export async function listAwaited(db: Kysely<Database>, chain: Chain) {
  return await select(db, chain)
    .where("address", "is", null)
    .where("expires_at", ">", sql<Date>`clock_timestamp()`)
    .orderBy("scanned_to")
    .execute();
}

/** Those whose account named a transaction that is not what was found, in no order: none can be in others' way. */
export async function listReported(db: Kysely<Database>, chain: Chain) {
  return await select(db, chain)
    .where("reported_tx", "is not", null)
    .where(sql<boolean>`tx_hash IS DISTINCT FROM reported_tx`)
    .where("expires_at", ">", sql<Date>`clock_timestamp()`)
    .orderBy(sql`random()`)
    .execute();
}

/** Those that were found and are not final, in no order. */
export async function listFound(db: Kysely<Database>, chain: Chain) {
  return await select(db, chain)
    .where("address", "is not", null)
    .where("finalized", "=", false)
    .orderBy(sql`random()`)
    .execute();
}

function select(db: Kysely<Database>, chain: Chain) {
  return db
    .selectFrom("service.self_deployment")
    .select(["id", "payload", "owner", "senders", "reported_tx", "init_code_hash", "init_code_bytes", "scanned_to"])
    .select(["address", "tx_hash", "block_number", "block_hash"])
    .where("chain_id", "=", chain.id)
    .limit(batch);
}

/** What was handed out for a request. */
export function handedOut(row: Pick<AwaitedRow, "id" | "payload" | "init_code_hash" | "init_code_bytes">): HandedOut {
  return {
    id: row.id,
    payload: row.payload as DeploymentPayload,
    initCodeHash: toHex(row.init_code_hash),
    initCodeBytes: row.init_code_bytes,
  };
}

/**
 * Records what was found of a request. What was found before stays, unless this is the account's own transaction.
 *
 * @returns whether it was recorded.
 */
export async function recordCreation(
  db: Kysely<Database>,
  id: string,
  { address, hash, block, blockHash }: Creation,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("service.self_deployment")
    .set({
      address: toBytes(address),
      tx_hash: toBytes(hash),
      block_number: block,
      block_hash: toBytes(blockHash),
      finalized: false,
    })
    .where("id", "=", id)
    .where((eb) => eb.or([eb("address", "is", null), eb("reported_tx", "=", toBytes(hash))]))
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** What was found in this block is final. */
export async function recordFinal(db: Kysely<Database>, id: string, blockHash: Buffer): Promise<void> {
  await db
    .updateTable("service.self_deployment")
    .set({ finalized: true })
    .where("id", "=", id)
    .where("block_hash", "=", blockHash)
    .execute();
}

/** What was found in this block is nothing; the request is awaited again, from behind `scannedTo` on. */
export async function forgetCreation(
  db: Kysely<Database>,
  id: string,
  blockHash: Buffer,
  scannedTo: bigint,
): Promise<void> {
  await db
    .updateTable("service.self_deployment")
    .set({
      address: null,
      tx_hash: null,
      block_number: null,
      block_hash: null,
      finalized: false,
      scanned_to: sql<bigint>`least(scanned_to, ${scannedTo})`,
    })
    .where("id", "=", id)
    .where("block_hash", "=", blockHash)
    .execute();
}

/** A request that was made later has looked further already. */
export async function recordScanned(db: Kysely<Database>, rows: readonly AwaitedRow[], to: bigint): Promise<void> {
  await db
    .updateTable("service.self_deployment")
    .set({ scanned_to: to })
    .where(
      "id",
      "in",
      rows.map((row) => row.id),
    )
    .where("scanned_to", "<", to)
    .execute();
}
