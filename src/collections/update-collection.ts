import { sql } from "kysely";
import type { Address, Hex } from "viem";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import type { RuntimeConfig } from "../../contracts/abi/config.ts";
import type { Caller } from "../auth/caller.ts";
import { type Chain, findChain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import { askNode } from "../relay/chain/node-failure.ts";
import { asLost, untilSigned, withoutHash } from "../relay/requests/until-signed.ts";
import { acceptUpdate } from "../relay/requests/update-intent.ts";
import { applyChanges, type ConfigChanges, storeChanges } from "../relay/store/config-changes.ts";
import { endedStates } from "../relay/store/lifecycle.ts";
import type { Services } from "../services.ts";
import { checkKey } from "./accept-deployment.ts";
import { keepTree } from "./allowlists.ts";
import { checkAgainstChain, frozen } from "./check-against-chain.ts";
import { checkUpdate } from "./check-update.ts";
import { getCollection } from "./collections.ts";
import { confirmedStates } from "./get-deployment.ts";
import { type CollectionUpdate, getUpdate } from "./get-update.ts";
import type { UpdateCollectionInput } from "./update-input.ts";

export interface UpdateCollectionResult {
  update: CollectionUpdate & { transactionHash: Hex };
  /** The client's own key, or the one derived from the request. */
  idempotencyKey: string;
}

/**
 * Changes a collection's settings: checked against the chain as it is, made durable, and signed when every
 * earlier update of the collection has ended, from what the chain has then. What the update does not name
 * keeps its value, also when another update changes it at the same time.
 *
 * @throws ServiceError the input's faults; `not_found` for a collection of another account or chain;
 *   `metadata_frozen`; `parameter_missing` when nothing is to change; `service_unavailable` when it could
 *   not be signed within ten seconds: it stays queued, and the same request asks for it again.
 */
export async function updateCollection(
  services: Services,
  caller: Caller,
  input: UpdateCollectionInput,
): Promise<UpdateCollectionResult> {
  const chain = findChain(services.chains, input.chain);
  const idempotencyKey = checkKey(input.idempotencyKey);
  const collection = await getCollection(services, caller, { chain: input.chain, address: input.collection });
  const { changes, allowlist } = await checkUpdate(services, caller, chain, input);
  const earlier = await findEarlier(services, caller, chain, input.collection, changes, idempotencyKey);
  const undone =
    earlier.same && idempotencyKey === null && (await isUndone(services, chain, input.collection, changes));
  // A request that comes again asks for its hash: what it did must not be held against it.
  if (!earlier.same || undone) {
    if (allowlist && allowlist.entries.length > 0) await services.disk.requireRoom(caller.tier === "free");
    if (earlier.freezing) throw frozen("is being frozen by an earlier update");
    await checkAgainstChain(services, chain, collection, changes, input.fixed ?? {});
  }
  const intent = await acceptUpdate(services, {
    tenantId: caller.accountId,
    tier: caller.tier,
    plan: caller.plan,
    chain,
    contract: input.collection,
    changes,
    royaltiesAddressAsSent: input.royaltiesAddress,
    idempotencyKey,
    undone,
    allowlist,
  });
  void keepTree(services, intent.allowlist_id, allowlist?.stored ?? null);
  await untilSigned(services, chain, intent);
  const update = await getUpdate(services, caller, intent.id).catch(asLost);
  const { transactionHash } = update;
  if (!transactionHash) throw withoutHash(intent, update.state);
  return {
    update: { ...update, transactionHash },
    idempotencyKey: (intent.idem_key ?? "").replace(/^client:/, ""),
  };
}

/** Whether others, such as the owner's own wallet, have changed since what the newest equal update set. */
async function isUndone(services: Services, chain: Chain, address: Address, changes: ConfigChanges): Promise<boolean> {
  const newest = await services.db
    .selectFrom("service.intent as i")
    .innerJoin("service.nonce_reservation as s", "s.intent_id", "i.id")
    .select(["i.state", "s.mined_block"])
    .where("i.chain_id", "=", chain.id)
    .where("i.predicted_addr", "=", toBytes(address))
    .where("i.kind", "=", "update")
    .where(sql<boolean>`i.payload -> 'changes' = ${JSON.stringify(storeChanges(changes))}::jsonb`)
    .orderBy("i.seq", "desc")
    .limit(1)
    .executeTakeFirst();
  if (!newest?.mined_block || !confirmedStates.includes(newest.state)) return false;
  const { mined_block: block } = newest;
  return await askNode(chain, async () => {
    const blockNumber = await services.rpc(chain).getBlockNumber();
    // A node that is behind shows what was before.
    if (blockNumber < block) return false;
    const question = { address, abi: collectionAbi, functionName: "getInfo", blockNumber } as const;
    const { runtimeConfig: now } = await services.rpc(chain).readContract(question);
    const asked = applyChanges(now, changes);
    return (Object.keys(asked) as (keyof RuntimeConfig)[]).some((member) =>
      member === "royaltiesAddress"
        ? asked[member].toLowerCase() !== now[member].toLowerCase()
        : asked[member] !== now[member],
    );
  });
}

/** Whether the same update was accepted lately, and whether one that freezes the metadata is on its way. */
export async function findEarlier(
  services: Services,
  caller: Caller,
  chain: Chain,
  collection: Address,
  changes: ConfigChanges,
  key: string | null,
): Promise<{ same: boolean; freezing: boolean }> {
  const stored = JSON.stringify(storeChanges(changes));
  const row = await services.db
    .selectFrom("service.intent as i")
    .select((eb) => [
      sql<boolean>`coalesce(bool_or(i.payload -> 'changes' = ${stored}::jsonb
        AND (i.idem_key IN (${`client:${key}`}, ${key}) OR ${key === null} AND i.idem_derived AND i.state <> 'failed_onchain'
          AND (i.settled_at IS NULL OR i.settled_at > clock_timestamp() - interval '10 minutes'))), false)`.as("same"),
      eb.fn
        .coalesce(
          sql<boolean>`bool_or(i.payload -> 'changes' ->> 'metadataUpdatable' = 'false' AND NOT i.state = ANY(${[...endedStates]}))`,
          sql<boolean>`false`,
        )
        .as("freezing"),
    ])
    .where("i.chain_id", "=", chain.id)
    .where("i.predicted_addr", "=", toBytes(collection))
    .where("i.tenant_id", "=", caller.accountId)
    .where("i.kind", "=", "update")
    .executeTakeFirstOrThrow();
  return { same: row.same, freezing: row.freezing };
}
