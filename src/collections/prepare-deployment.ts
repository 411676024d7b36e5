import { createHash, randomUUID } from "node:crypto";
import { sql, type Transaction } from "kysely";
import type { Address, Hash, Hex } from "viem";
import type { Caller } from "../auth/caller.ts";
import { type Chain, findChain } from "../chains.ts";
import { toAddress, toBytes, toHash } from "../db/bytes.ts";
import type { Database } from "../db/database.ts";
import { ServiceError } from "../errors/errors.ts";
import { askNode } from "../rpc/nodes.ts";
import type { Services } from "../services.ts";
import { keepTree } from "./allowlists.ts";
import { type CheckedDeployment, checkDeployment, checkTreasury } from "./check-deployment.ts";
import { configsOf, type DeployCollectionInput, type DeploymentPayload, lowerCase } from "./deployment-input.ts";
import { addressOfCreation, encodeInitCode, hashOfCreation, readReceipt, readTransaction } from "./exact-creation.ts";

/** A transaction for the creator's own wallet that creates a standalone collection. */
export interface PreparedDeployment {
  chain: Chain;
  /** Null: a contract creation has no receiver. */
  to: null;
  data: Hex;
  valueWei: bigint;
  /** An estimate with a margin; null when it cannot be estimated without knowing the sender. */
  gas: bigint | null;
  /** The collection's address if this is the sender's next transaction; null without a sender. */
  expectedAddress: Address | null;
  /** The chain is watched for the deployment until then. */
  expiresAt: Date;
  warnings: string[];
}

/** Calls to a node: the treasury's code and a payment to it, the head, the sender's nonce, an estimate. */
const mostCalls = 5;

/**
 * Builds the transaction with which a creator's own wallet deploys a collection, and records it, so that the worker
 * detects the collection on the chain as one of this account.
 *
 * The deploying wallet becomes an admin of the collection; the service does not, and cannot update it. The bytes are
 * public as soon as they are pending, so only a creation by the owner or a named sender is detected without a report
 * (detect-deployments.ts): sent from any other wallet, a third party would be the admin.
 *
 * @param sender the wallet that will send it, if known; the owner always counts.
 * @throws ServiceError the input's faults; `plan_limit_exceeded` for more requests or lists than the plan allows;
 *   `storage_full`; as `AccountCalls`; `service_unavailable` while the node does not answer.
 */
export async function prepareDeployment(
  services: Services,
  caller: Caller,
  input: DeployCollectionInput,
  sender?: Address,
): Promise<PreparedDeployment> {
  const checked = await checkDeployment(services, caller, { ...input, grantServiceAdmin: false }, "SIGN");
  const { chain, payload } = checked;
  await services.disk.requireRoom(caller.tier === "free");
  services.accountCalls.take(chain, caller.accountId, mostCalls);
  await checkTreasury(services, chain, payload.treasuryAddress);
  const client = services.rpc(chain);
  const [head, nonce] = await askNode(chain, () =>
    Promise.all([
      client.getBlockNumber(),
      sender && client.getTransactionCount({ address: sender, blockTag: "pending" }),
    ]),
  );
  const { id, expires_at } = await recordDeployment(services, caller, checked, head, sender);
  // The list has the same id as its deployment.
  void keepTree(services, id, checked.allowlist.stored);
  const { data } = encodeInitCode(id, payload);
  return {
    chain,
    to: null,
    data,
    valueWei: 0n,
    gas: await estimate(services, chain, data, sender ?? lowerCase(payload.ownerAddress)),
    expectedAddress: sender && nonce !== undefined ? addressOfCreation({ from: sender, nonce }) : null,
    expiresAt: expires_at,
    warnings: checked.warnings,
  };
}

/** The row of this request: an equal one that is still awaited, or a new one. */
async function recordDeployment(
  services: Services,
  caller: Caller,
  { chain, payload, allowlist }: CheckedDeployment,
  head: bigint,
  sender: Address | undefined,
) {
  const requestHash = hashRequest(chain, payload);
  return await services.db.transaction().execute(async (transaction) => {
    const awaited = await transaction
      .selectFrom("service.self_deployment")
      .select(["id", "expires_at"])
      .where("tenant_id", "=", caller.accountId)
      .where("chain_id", "=", chain.id)
      .where("req_hash", "=", requestHash)
      .where("address", "is", null)
      .where("expires_at", ">", sql<Date>`clock_timestamp() + interval '1 day'`)
      .orderBy("created_at", "desc")
      .limit(1)
      .executeTakeFirst();
    if (awaited && sender) await addSender(transaction, awaited.id, toBytes(sender));
    if (awaited) return awaited;
    const id = randomUUID();
    const { hash, sizeBytes } = encodeInitCode(id, payload);
    const listed = allowlist.entries.length > 0;
    if (listed) {
      await transaction
        .insertInto("service.allowlist")
        .values({ id, tenant_id: caller.accountId, root: toBytes(allowlist.root), entries: [...allowlist.entries] })
        .execute();
    }
    return await transaction
      .insertInto("service.self_deployment")
      .values({
        id,
        tenant_id: caller.accountId,
        chain_id: chain.id,
        req_hash: requestHash,
        payload: JSON.stringify(payload),
        allowlist_id: listed ? id : null,
        owner: toBytes(lowerCase(payload.ownerAddress)),
        init_code_hash: toBytes(hash),
        init_code_bytes: sizeBytes,
        scanned_to: head,
        senders: sender ? [toBytes(sender)] : [],
      })
      .returning(["id", "expires_at"])
      .executeTakeFirstOrThrow();
  });
}

/** Only the eight named last are stored. */
async function addSender(transaction: Transaction<Database>, id: string, sender: Buffer): Promise<void> {
  await transaction
    .updateTable("service.self_deployment")
    .set({
      senders: sql<
        Buffer[]
      >`(array_remove(senders, ${sender}) || ${sender}::bytea)[greatest(cardinality(array_remove(senders, ${sender})) - 6, 1):]`,
    })
    .where("id", "=", id)
    .execute();
}

function hashRequest(chain: Chain, payload: DeploymentPayload): Buffer {
  const inText = (_key: string, value: unknown) => (typeof value === "bigint" ? String(value) : value);
  return createHash("sha256")
    .update(`sign ${chain.id} ${JSON.stringify(configsOf(payload), inText)}`)
    .digest();
}

/** Null when the node refuses: the wallet may have no funds yet, and will make its own estimate later. */
async function estimate(services: Services, chain: Chain, data: Hex, sender: Address): Promise<bigint | null> {
  const gas = await services
    .rpc(chain)
    .estimateGas({ account: sender, data })
    .catch(() => null);
  return gas && (gas * 11n) / 10n;
}

export interface ReportedDeployment {
  /** The collection's address, also before the transaction is mined. */
  address: Address;
}

/**
 * Records which transaction the account reports as the deployment of its request of mode SIGN. That transaction counts,
 * from whatever wallet it comes and whatever was detected before, once it is confirmed and exact. Until then another
 * one may be reported, since wallets replace transactions whose fee became too low.
 *
 * @param input `transactionHash` in any letter case.
 * @throws ServiceError `value_error` for an invalid hash, for a transaction whose bytes are not those of a request of
 *   this account, and once an earlier report's collection is confirmed; `not_found` while the node does not know it;
 *   `transaction_failed` if the chain refused it; `service_unavailable` while the node is silent; as `AccountCalls`.
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
  const row =
    code &&
    (await services.db
      .selectFrom("service.self_deployment")
      .select(["id", "address", "tx_hash", "reported_tx"])
      .where("tenant_id", "=", caller.accountId)
      .where("chain_id", "=", chain.id)
      .where("init_code_hash", "=", toBytes(code))
      .executeTakeFirst());
  if (!row)
    throw new ServiceError(
      "value_error",
      "this is not the transaction of a request of this account: it has to have no receiver, and the data that was prepared, unchanged",
      field,
    );
  if (transaction.blockHash !== null) {
    services.accountCalls.take(chain, caller.accountId, 1);
    const receipt = await askNode(chain, () => readReceipt(services.rpc(chain), hash));
    if (receipt?.status === "reverted")
      throw new ServiceError(
        "transaction_failed",
        "the chain refused this transaction: it created no collection",
        field,
      );
  }
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
