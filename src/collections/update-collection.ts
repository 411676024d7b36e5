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

/** What an update changes; absent members stay as they are. */
export function changesOf({ payload }: CollectionUpdate): ConfigChanges {
  return readChanges(payload);
}

export interface UpdateCollectionResult {
  update: CarriedOut<CollectionUpdate>["request"];
  /** The client's own key, or the one derived from the request. */
  idempotencyKey: string;
}

/**
 * Changes a collection's settings: checked against the chain as it is, made durable, and signed when every
 * earlier update of the collection has ended, from what the chain has then. What the update does not name
 * keeps its value, also when another update changes it at the same time.
 *
 * @throws ServiceError the input's faults; `not_found` for a collection of another account or chain;
 *   `metadata_frozen`; `parameter_missing` when nothing is to change; what `carryOut` throws.
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
  /** A collection that the caller's deployment made here; any letter case. */
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
 * The configuration is read, changed and signed later, as one record at one block, and only after every earlier update of
 * the contract has ended. What the contract itself would refuse (frozen metadata, revoked rights) only shows there: `check` it before.
 *
 * @param check done for an update that repeats none.
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
      // What it did must not be held against a request that asks for its hash.
      const earlier = await repeated();
      if (earlier) return { earlier };
      await check?.();
      const deployed = await findDeploymentAt(services, caller, "deploy", chain, contract);
      if (!deployed) throw new ServiceError("not_found", "no collection of this account stands at this address");
      return {
        factory: toAddress(deployed.factory),
        template: toAddress(deployed.template),
        owner: toAddress(deployed.owner),
        // The chain knows no letter case; answers give addresses back as they were sent.
        payload: { contract, changes: stored, ...(royaltiesAddress ? { spelling: { royaltiesAddress } } : {}) },
        allowlist,
        // An update has no address of its own to end at: order is kept by one at a time instead.
        initData: "0x",
        salt: zeroHash,
        predicted: contract,
        bytes: canonical.length,
      };
    },
    accepted: (intent) => void keepTree(services, intent.allowlist_id, allowlist?.stored ?? null),
  };
}

/** Whether others, such as the owner's own wallet, have changed since what an earlier update set. */
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

/** What an update would do; nothing of it was stored, signed or spent. */
export interface UpdatePlan extends PlannedCost {
  chain: Chain;
  collection: Address;
  warnings: string[];
}

/**
 * Checks an update in every way short of doing it: the request, the collection as the chain has it now, and the
 * transaction by simulation.
 *
 * @throws ServiceError what `updateCollection` throws for the same input, and `value_error` when the chain would refuse it.
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

/** Legal, but probably not meant. */
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
