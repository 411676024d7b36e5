import { sql } from "kysely";
import { type Address, encodeFunctionData, zeroHash } from "viem";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import type { RuntimeConfig } from "../../contracts/abi/config.ts";
import type { Caller } from "../auth/caller.ts";
import type { Chain } from "../chains.ts";
import { toAddress } from "../db/bytes.ts";
import { ServiceError } from "../errors/errors.ts";
import { type Asked, type CarriedOut, carryOut } from "../requests/carry-out.ts";
import { type ChainRequest, type Family, findDeploymentAt } from "../requests/requests.ts";
import { type PlannedCost, planCost } from "../requests/simulate.ts";
import { askNode } from "../rpc/nodes.ts";
import type { Services } from "../services.ts";
import { confirmedStates } from "../transactions/lifecycle.ts";
import type { Intent } from "../transactions/store/intents.ts";
import { findReservation } from "../transactions/store/nonces.ts";
import { applyChanges, type ConfigChanges, readChanges, storeChanges } from "../transactions/store/payloads.ts";
import type { AllowlistTree } from "./allowlist-tree.ts";
import { keepTree } from "./allowlists.ts";
import { warnOfBaseUri, warnOfChecksums, warnOfSales } from "./check-deployment.ts";
import { checkAgainstChain, checkUpdate } from "./check-update.ts";
import type { UpdateCollectionInput } from "./deployment-input.ts";

/** An update of a collection's settings on its way to the chain. */
export type CollectionUpdate = ChainRequest<"update">;
export const collectionUpdates: Family<CollectionUpdate> = { name: "update", kinds: ["update"] };

/** What an update changes; absent members stay unchanged. */
export function changesOf({ payload }: CollectionUpdate): ConfigChanges {
  return readChanges(payload);
}

export interface UpdateCollectionResult {
  update: CarriedOut<CollectionUpdate>["request"];
  /** The client's own key, or the key derived from the request. */
  idempotencyKey: string;
}

/**
 * Changes a collection's settings: the update is checked against the chain's current state, stored, and signed when
 * every earlier update of the collection has ended, from the chain's state at that time. Members that the update omits
 * keep their value, even when another update changes them at the same time.
 *
 * @throws ServiceError the input's faults; `not_found` for a collection of another account or chain; `metadata_frozen`;
 *   `parameter_missing` when nothing is to change; as `carryOut`.
 */
export async function updateCollection(
  services: Services,
  caller: Caller,
  input: UpdateCollectionInput,
): Promise<UpdateCollectionResult> {
  const { royaltiesAddress: royaltiesAddressAsSent, idempotencyKey } = input;
  const { collection, changes, allowlist } = await checkUpdate(services, caller, input);
  const { chain, address: contract } = collection;
  const update = { chain, contract, changes, allowlist, royaltiesAddressAsSent, idempotencyKey };
  const asked = askUpdate(services, caller, update, async () => {
    if (allowlist && allowlist.entries.length > 0) await services.disk.requireRoom(caller.tier === "free");
    await checkAgainstChain(services, collection, changes);
  });
  const done = await carryOut(services, caller, asked);
  return { update: done.request, idempotencyKey: done.idempotencyKey };
}

export interface UpdateRequest {
  chain: Chain;
  /** A collection that the caller's account deployed here; any letter case. */
  contract: Address;
  changes: ConfigChanges;
  /** `changes.royaltiesAddress` in the letter case of the request. */
  royaltiesAddressAsSent?: string | undefined;
  /** As sent. */
  idempotencyKey: string | undefined;
  /** A new presale list; `changes.presaleMerkleRoot` has to be its root. */
  allowlist: AllowlistTree | null;
}

/**
 * The configuration is read, changed and signed later, as one record at one block, once all earlier updates have ended.
 * A refusal by the contract itself (frozen metadata, revoked rights) shows only then: `check` for it before.
 *
 * @param check called for an update that repeats none.
 */
export function askUpdate(
  services: Services,
  caller: Caller,
  { chain, changes, allowlist, royaltiesAddressAsSent: royaltiesAddress, idempotencyKey, ...update }: UpdateRequest,
  check?: () => Promise<void>,
): Asked<CollectionUpdate> {
  const contract = update.contract.toLowerCase() as Address;
  const stored = storeChanges(changes);
  const canonical = `${contract} ${JSON.stringify(stored)}`;
  return {
    family: collectionUpdates,
    chain,
    kind: "update",
    canonical,
    idempotencyKey,
    stands: async (earlier) => !(await isUndone(services, chain, contract, changes, earlier)),
    draft: async (_id, repeated) => {
      // Read first: the request's own effect must not make its repeat fail the checks.
      const earlier = await repeated();
      if (earlier) return { earlier };
      await check?.();
      const deployed = await findDeploymentAt(services, caller, "deploy", chain, contract);
      if (!deployed) throw new ServiceError("not_found", "no collection of this account stands at this address");
      return {
        factory: toAddress(deployed.factory),
        template: toAddress(deployed.template),
        owner: toAddress(deployed.owner),
        // The chain has no letter case; answers return addresses as they were sent.
        payload: { contract, changes: stored, ...(royaltiesAddress ? { spelling: { royaltiesAddress } } : {}) },
        allowlist,
        // An update creates no address of its own; the order is kept by carrying out one at a time.
        initData: "0x",
        salt: zeroHash,
        predicted: contract,
        bytes: canonical.length,
      };
    },
    accepted: (intent) => void keepTree(services, intent.allowlist_id, allowlist?.stored ?? null),
  };
}

/** Whether others, such as the owner's own wallet, have since changed what an earlier update set. */
async function isUndone(
  services: Services,
  chain: Chain,
  address: Address,
  changes: ConfigChanges,
  earlier: Intent,
): Promise<boolean> {
  if (!confirmedStates.includes(earlier.state)) return false;
  const block = (await findReservation(services.db, earlier.id))?.mined_block;
  if (!block) return false;
  return await askNode(chain, async () => {
    const blockNumber = await services.rpc(chain).getBlockNumber();
    // A node that is behind shows the state before it.
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

/** What an update would do; nothing was stored, signed or spent for it. */
export interface UpdatePlan extends PlannedCost {
  chain: Chain;
  collection: Address;
  warnings: string[];
}

/**
 * Makes all checks of an update without sending it: the request, the collection's current state, and a simulation of
 * the transaction.
 *
 * @throws ServiceError as `updateCollection` for the same input, and `value_error` when the chain would refuse it.
 */
export async function planUpdate(
  services: Services,
  caller: Caller,
  input: UpdateCollectionInput,
): Promise<UpdatePlan> {
  const { collection, changes, allowlist } = await checkUpdate(services, caller, input);
  const { chain } = collection;
  const { current, next } = await checkAgainstChain(services, collection, changes);
  const data = encodeFunctionData({ abi: collectionAbi, functionName: "updateConfig", args: [next] });
  const [cost, listed] = await Promise.all([
    planCost(services, chain, { to: collection.address, data }),
    allowlist ? allowlist.entries.length : countListed(services, collection.allowlistId),
  ]);
  const { royaltiesAddress } = input;
  const warnings = [...warnOf(current, next, listed), ...warnOfChecksums({ royaltiesAddress })];
  return { chain, collection: collection.address, ...cost, warnings };
}

/** Valid, but probably unintended. */
function warnOf(current: RuntimeConfig, next: RuntimeConfig, listed: number): string[] {
  const now = BigInt(Math.floor(Date.now() / 1000));
  const { publicMintStart, presaleMintStart } = next;
  const members = Object.keys(next) as (keyof RuntimeConfig)[];
  const same = members.every((member) => String(next[member]).toLowerCase() === String(current[member]).toLowerCase());
  const opens = (member: "publicMintStart" | "presaleMintStart") =>
    next[member] !== current[member] && next[member] > 0n && next[member] <= now && current[member] > now;
  return [
    ...(same ? ["the collection has all of this already: the transaction would change nothing"] : []),
    ...(opens("publicMintStart") ? ["the public sale opens as soon as this is on the chain"] : []),
    ...(opens("presaleMintStart") ? ["the presale opens as soon as this is on the chain"] : []),
    ...warnOfSales({ publicMintStart, presaleMintStart, listed }),
    ...(next.baseURI === current.baseURI ? [] : warnOfBaseUri(next.baseURI)),
    ...(current.metadataUpdatable && !next.metadataUpdatable
      ? ["after this nobody can change the collection's settings any more"]
      : []),
  ];
}

async function countListed({ db }: Services, id: string | null): Promise<number> {
  if (id === null) return 0;
  const row = await db
    .selectFrom("service.allowlist")
    .select(sql<number>`cardinality(entries)`.as("wallets"))
    .where("id", "=", id)
    .executeTakeFirst();
  return row?.wallets ?? 0;
}
