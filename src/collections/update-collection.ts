import { sql } from "kysely";
import { type Address, type Hex, zeroHash } from "viem";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import type { RuntimeConfig } from "../../contracts/abi/config.ts";
import type { Caller } from "../auth/caller.ts";
import { type Chain, findChain } from "../chains.ts";
import { toAddress, toBytes } from "../db/bytes.ts";
import { ServiceError } from "../errors/errors.ts";
import { type Asked, type CarriedOut, carryOut, type Draft } from "../requests/carry-out.ts";
import type { ChainRequest, Family } from "../requests/requests.ts";
import { askNode } from "../rpc/nodes.ts";
import type { Services } from "../services.ts";
import { confirmedStates, endedStates } from "../transactions/lifecycle.ts";
import type { Intent } from "../transactions/store/intents.ts";
import { findReservation } from "../transactions/store/nonces.ts";
import { applyChanges, type ConfigChanges, storeChanges } from "../transactions/store/payloads.ts";
import { type AllowlistTree, takeAllowlist } from "./allowlist-tree.ts";
import { keepTree } from "./allowlists.ts";
import { checkAgainstChain, type FixedMembers, frozen } from "./check-against-chain.ts";
import { checkTextTogether, maxAllowlist, startSeconds } from "./check-deployment.ts";
import { lowerCase } from "./collection-config.ts";
import { getCollection } from "./collections.ts";
import { Problems } from "./problems.ts";

/** Absent members stay as they are. */
export interface UpdateCollectionInput {
  /** As sent, aliases allowed. */
  chain: string;
  /** Lower case. */
  collection: Address;
  /** Reveals the collection; empty hides it again. */
  baseUri?: string | undefined;
  prerevealTokenUri?: string | undefined;
  publicMintStart?: Date | undefined;
  presaleMintStart?: Date | undefined;
  /** Replaces the whole presale list; empty: nobody. */
  allowlist?: readonly string[] | undefined;
  royaltiesBps?: bigint | undefined;
  royaltiesAddress?: string | undefined;
  /** True freezes the metadata for good; false changes nothing. */
  freezeMetadata?: boolean | undefined;
  /** What never changes, when a client repeats it: refused if it differs. */
  fixed?: FixedMembers | undefined;
  idempotencyKey?: string | undefined;
}

/** An update of a collection's settings on its way to the chain. */
export type CollectionUpdate = ChainRequest<"update">;
export const collectionUpdates: Family<CollectionUpdate> = { name: "update", kinds: ["update"] };

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
  const { royaltiesAddress: royaltiesAddressAsSent, idempotencyKey, fixed = {} } = input;
  const chain = findChain(services.chains, input.chain);
  const collection = await getCollection(services, caller, { chain: input.chain, address: input.collection });
  const { changes, allowlist } = await checkUpdate(services, caller, chain, input);
  const update = { chain, contract: input.collection, changes, allowlist, royaltiesAddressAsSent, idempotencyKey };
  const asked = askUpdate(services, caller, update, async () => {
    if (allowlist && allowlist.entries.length > 0) await services.disk.requireRoom(caller.tier === "free");
    if (await isBeingFrozen(services, chain, input.collection)) throw frozen("is being frozen by an earlier update");
    await checkAgainstChain(services, chain, collection, changes, fixed);
  });
  const done = await carryOut(services, caller, { ...asked, beside: Object.entries(fixed).join(" ") });
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
      const deployed = await findDeployed(services, caller, chain, contract);
      return {
        ...deployed,
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

/** @throws ServiceError `not_found` for a contract that no confirmed deployment of this account made. */
async function findDeployed(
  services: Services,
  caller: Caller,
  chain: Chain,
  contract: Address,
): Promise<Pick<Draft, "factory" | "template" | "owner">> {
  const row = await services.db
    .selectFrom("service.intent")
    .select(["factory", "template", "owner"])
    .where("chain_id", "=", chain.id)
    .where("predicted_addr", "=", toBytes(contract))
    .where("tenant_id", "=", caller.accountId)
    .where("kind", "=", sql.lit("deploy"))
    .where("state", "in", confirmedStates)
    .executeTakeFirst();
  if (!row) throw new ServiceError("not_found", "no collection of this account stands at this address");
  return { factory: toAddress(row.factory), template: toAddress(row.template), owner: toAddress(row.owner) };
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

/** Whether an update that freezes the collection for good is on its way. */
export async function isBeingFrozen(services: Services, chain: Chain, collection: Address): Promise<boolean> {
  const row = await services.db
    .selectFrom("service.intent")
    .select("id")
    .where("chain_id", "=", chain.id)
    .where("predicted_addr", "=", toBytes(collection))
    .where("kind", "=", "update")
    .where("state", "not in", endedStates)
    .where(sql<boolean>`payload -> 'changes' ->> 'metadataUpdatable' = 'false'`)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** An update whose members are in order, whatever the collection is like. */
interface CheckedUpdate {
  changes: ConfigChanges;
  /** The new presale list; null when the update leaves the list alone. */
  allowlist: AllowlistTree | null;
}

/**
 * Checks what can be checked without asking the chain.
 *
 * @throws ServiceError the gravest fault, all of them in `details.problems`; `parameter_missing` when
 *   nothing is to change.
 */
export async function checkUpdate(
  services: Services,
  caller: Caller,
  chain: Chain,
  input: UpdateCollectionInput,
): Promise<CheckedUpdate> {
  const problems = new Problems();
  const { royaltiesBps, allowlist: listed } = input;
  if (royaltiesBps !== undefined && (royaltiesBps < 0n || royaltiesBps > 10_000n))
    problems.add("value_error", "royaltiesBps", "the royalty share must be 0 to 10000 basis points");
  checkTextTogether(problems, { baseUri: input.baseUri, prerevealTokenUri: input.prerevealTokenUri });
  if (listed && listed.length > maxAllowlist)
    problems.add("value_error", "allowlist", `the presale list may hold ${maxAllowlist} wallets`);
  const start = (field: "publicMintStart" | "presaleMintStart") =>
    input[field] && startSeconds(problems, field, input[field]);
  const starts = { publicMintStart: start("publicMintStart"), presaleMintStart: start("presaleMintStart") };
  if (chain.paidTierOnly && caller.tier === "free")
    problems.add("plan_limit_exceeded", "chain", `updating on ${chain.name} needs a Growth or Scale key`);
  problems.check();
  const allowlist = listed
    ? ((await problems.attemptLater(() => takeAllowlist(services, caller, listed))) ?? null)
    : null;
  problems.check();
  const changes: ConfigChanges = {
    baseUri: input.baseUri,
    prerevealTokenUri: input.prerevealTokenUri,
    metadataUpdatable: input.freezeMetadata ? false : undefined,
    ...starts,
    presaleMerkleRoot: allowlist?.root satisfies Hex | undefined,
    royaltiesBps,
    royaltiesAddress: input.royaltiesAddress === undefined ? undefined : (lowerCase(input.royaltiesAddress) as Address),
  };
  if (Object.values(changes).every((value) => value === undefined)) {
    throw new ServiceError(
      "parameter_missing",
      "nothing to change: send a URI, a mint start, the presale list, royalties, or the freeze",
    );
  }
  return { changes, allowlist };
}
