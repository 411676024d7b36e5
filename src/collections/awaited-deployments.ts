import { type Kysely, sql } from "kysely";
import type { Address, Hash } from "viem";
import type { Caller } from "../auth/caller.ts";
import { type Chain, findChain } from "../chains.ts";
import { toAddress, toBytes, toHash, toHex } from "../db/bytes.ts";
import type { Database } from "../db/database.ts";
import { ServiceError } from "../errors/errors.ts";
import { askNode } from "../rpc/nodes.ts";
import type { Services } from "../services.ts";
import type { DeploymentPayload } from "./deployment-input.ts";
import {
  addressOfCreation,
  type Creation,
  type HandedOut,
  hashOfCreation,
  readReceipt,
  readTransaction,
} from "./exact-creation.ts";

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

export interface ReportedDeployment {
  /** Where the collection stands, or will when the transaction is mined. */
  address: Address;
}

/**
 * Notes which transaction the account itself calls the deployment of its request of mode SIGN: that one counts, from
 * whatever wallet it comes and whatever was found before, once it is confirmed and exact. Until then another one may
 * be named, for a wallet replaces a transaction that became too cheap.
 *
 * @param input `transactionHash` in any letter case.
 * @throws ServiceError `value_error` for what is no hash, for a transaction that does not consist of exactly the bytes
 *   of a request of this account, and once the collection of an earlier report stands; `not_found` for one that the
 *   node does not know (yet); `transaction_failed` for one that the chain refused; `service_unavailable` while it does not answer; what `AccountCalls` throws.
 */
export async function reportDeployment(
  services: Services,
  caller: Caller,
  input: { chain: string; transactionHash: string },
): Promise<ReportedDeployment> {
  const chain = findChain(services.chains, input.chain);
  const field = { field: "transactionHash" } as const;
  if (!/^0x[0-9a-f]{64}$/i.test(input.transactionHash))
    throw new ServiceError("value_error", "a transaction hash is 0x and 64 hex digits", field);
  const hash = input.transactionHash.toLowerCase() as Hash;
  services.accountCalls.take(chain, caller.accountId, 1);
  const transaction = await askNode(chain, () => readTransaction(services.rpc(chain), hash));
  if (!transaction)
    throw new ServiceError(
      "not_found",
      `no ${chain.name} node of this service knows this transaction yet; send it, and ask again in a few seconds`,
      field,
    );
  const code = hashOfCreation(transaction);
  const row = code && (await findRequest(services, caller, chain.id, toBytes(code)));
  if (!row)
    throw new ServiceError(
      "value_error",
      "this is not the transaction of a request of this account: it has to have no receiver, and the data that was prepared, unchanged",
      field,
    );
  if (transaction.blockHash !== null && (await hasFailed(services, caller, chain, hash)))
    throw new ServiceError("transaction_failed", "the chain refused this transaction: it created no collection", field);
  const { reported_tx: earlier, tx_hash: found } = row;
  if (earlier && found?.equals(earlier) && toHash(earlier) !== hash)
    throw new ServiceError(
      "value_error",
      `the collection of this request stands at ${row.address && toAddress(row.address)}, as it was reported; prepare another one`,
      field,
    );
  await services.db
    .updateTable("service.self_deployment")
    .set({
      reported_tx: toBytes(hash),
      expires_at: sql<Date>`greatest(expires_at, clock_timestamp() + interval '30 days')`,
    })
    .where("id", "=", row.id)
    .where("tenant_id", "=", caller.accountId)
    .execute();
  return { address: addressOfCreation(transaction) };
}

/** Of a transaction that is in a block. */
async function hasFailed({ accountCalls, rpc }: Services, caller: Caller, chain: Chain, hash: Hash): Promise<boolean> {
  accountCalls.take(chain, caller.accountId, 1);
  const receipt = await askNode(chain, () => readReceipt(rpc(chain), hash));
  return receipt?.status === "reverted";
}

async function findRequest(services: Services, caller: Caller, chainId: number, initCodeHash: Buffer) {
  return await services.db
    .selectFrom("service.self_deployment")
    .select(["id", "address", "tx_hash", "reported_tx"])
    .where("tenant_id", "=", caller.accountId)
    .where("chain_id", "=", chainId)
    .where("init_code_hash", "=", initCodeHash)
    .executeTakeFirst();
}
