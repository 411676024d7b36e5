import { createHash, randomUUID } from "node:crypto";
import { sql, type Transaction } from "kysely";
import { type Address, getContractAddress, type Hex } from "viem";
import type { Caller } from "../auth/caller.ts";
import type { Chain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import type { Database } from "../db/database.ts";
import { askNode } from "../rpc/nodes.ts";
import type { Services } from "../services.ts";
import { keepTree } from "./allowlists.ts";
import { type CheckedDeployment, checkDeployment, checkTreasury } from "./check-deployment.ts";
import { configsOf, lowerCase } from "./collection-config.ts";
import type { DeployCollectionInput, DeploymentPayload } from "./deployment-input.ts";
import { encodeInitCode } from "./exact-creation.ts";

/** A transaction for the creator's own wallet: it creates a standalone collection. */
export interface PreparedDeployment {
  chain: Chain;
  /** Null: a creation has no receiver. */
  to: null;
  data: Hex;
  valueWei: bigint;
  /** An estimate with some room; null when it cannot be estimated without knowing the sender. */
  gas: bigint | null;
  /** Where the collection will be if it is the next transaction of the given sender; null without one. */
  expectedAddress: Address | null;
  /** Until then the chain is watched for it. */
  expiresAt: Date;
  warnings: string[];
}

/** Of a node: the treasury's code and a payment to it, the head, the sender's nonce, an estimate. */
const mostCalls = 5;

/**
 * Makes the transaction with which a creator's own wallet deploys a collection, and records it, so that the
 * worker detects the collection on the chain as one of this account.
 *
 * The deploying wallet becomes an admin of the collection; the service does not, and cannot update it. The bytes are
 * public as soon as they are pending, so only a creation by the owner or a named sender is detected without being
 * reported (awaited-deployments.ts): from any other wallet, a third party would be the admin.
 *
 * @param sender the wallet that will send it, if that is known; the owner counts anyway.
 * @throws ServiceError the input's faults; `plan_limit_exceeded` for more requests or lists than the plan keeps;
 *   `storage_full`; what `AccountCalls` throws; `service_unavailable` while the node does not answer.
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
  // The list has the id of its deployment.
  void keepTree(services, id, checked.allowlist.stored);
  const { data } = encodeInitCode(id, payload);
  return {
    chain,
    to: null,
    data,
    valueWei: 0n,
    gas: await estimate(services, chain, data, sender ?? lowerCase(payload.ownerAddress)),
    expectedAddress:
      sender && nonce !== undefined ? lowerCase(getContractAddress({ from: sender, nonce: BigInt(nonce) })) : null,
    expiresAt: expires_at,
    warnings: checked.warnings,
  };
}

/** The row of this request: the one that is still awaited, or a new one. */
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

/** The eight that were named last count. */
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
  const configs = JSON.stringify(configsOf(payload), (_key, value) =>
    typeof value === "bigint" ? String(value) : value,
  );
  return createHash("sha256").update(`sign ${chain.id} ${configs}`).digest();
}

/** Null when the node refuses: the wallet has nothing to pay with yet, and its own estimate comes later. */
async function estimate(services: Services, chain: Chain, data: Hex, sender: Address): Promise<bigint | null> {
  const gas = await services
    .rpc(chain)
    .estimateGas({ account: sender, data })
    .catch(() => null);
  return gas && (gas * 11n) / 10n;
}
