import { sql } from "kysely";
import { type Hex, keccak256, stringToHex } from "viem";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import type { RuntimeConfig } from "../../contracts/abi/config.ts";
import type { Caller } from "../auth/caller.ts";
import { toBytes } from "../db/bytes.ts";
import { ServiceError } from "../errors/errors.ts";
import { askNode } from "../rpc/nodes.ts";
import type { Services } from "../services.ts";
import { endedStates } from "../transactions/lifecycle.ts";
import { applyChanges, type ConfigChanges } from "../transactions/store/payloads.ts";
import { type AllowlistTree, takeAllowlist } from "./allowlist-tree.ts";
import { checkTextTogether, maxAllowlist, startSeconds } from "./check-deployment.ts";
import { type Collection, getCollection } from "./collections.ts";
import { type FixedMembers, lowerCase, type UpdateCollectionInput } from "./deployment-input.ts";
import { Problems } from "./problems.ts";

/** An update with valid members; the collection's state on the chain is not checked yet. */
interface CheckedUpdate {
  collection: Collection;
  changes: ConfigChanges;
  /** The new presale list; null when the update does not change the list. */
  allowlist: AllowlistTree | null;
}

/**
 * Makes the checks that need no chain access.
 *
 * @throws ServiceError `not_found` for a collection of another account or chain; the gravest fault, with all of them in
 *   `details.problems`; `parameter_missing` when nothing is to change.
 */
export async function checkUpdate(
  services: Services,
  caller: Caller,
  input: UpdateCollectionInput,
): Promise<CheckedUpdate> {
  const collection = await getCollection(services, caller, {
    chain: input.chain,
    address: lowerCase(input.collection),
  });
  const { chain } = collection;
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
  checkFixed(problems, collection, input.fixed ?? {});
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
    royaltiesAddress: input.royaltiesAddress === undefined ? undefined : lowerCase(input.royaltiesAddress),
  };
  if (Object.values(changes).every((value) => value === undefined)) {
    throw new ServiceError(
      "parameter_missing",
      "nothing to change: send a URI, a mint start, the presale list, royalties, or the freeze",
    );
  }
  return { collection, changes, allowlist };
}

/** Compares members fixed at deployment with the collection's row; for a repeat too, before it gets the old hash. */
function checkFixed(problems: Problems, { settings }: Collection, fixed: FixedMembers): void {
  const same: Record<keyof FixedMembers, unknown> = {
    name: settings.name,
    symbol: settings.symbol,
    maxSupply: BigInt(settings.maxSupply),
    reservedSupply: BigInt(settings.reservedSupply),
    tokensPerMint: BigInt(settings.tokensPerMint),
    mintPriceWei: BigInt(settings.publicMintPriceWei),
    treasuryAddress: settings.treasuryAddress.toLowerCase(),
  };
  for (const [field, current] of Object.entries(same) as [keyof FixedMembers, unknown][]) {
    const given = field === "treasuryAddress" ? fixed[field]?.toLowerCase() : fixed[field];
    if (given !== undefined && given !== current)
      problems.add("value_error", field, `this cannot be changed after deployment; it is ${current}`);
  }
}

const adminRole = keccak256(stringToHex("ADMIN_ROLE"));

/**
 * Checks an update against those under way, and against the collection's state at one block, before any gas is spent.
 *
 * @returns its settings there, and its settings after the update.
 * @throws ServiceError `metadata_frozen`; `value_error` for a freeze that would hide the collection for ever, or for a
 *   collection that the service's wallet may not change.
 */
export async function checkAgainstChain(
  services: Services,
  collection: Collection,
  changes: ConfigChanges,
): Promise<{ current: RuntimeConfig; next: RuntimeConfig }> {
  const { chain } = collection;
  if (await isBeingFrozen(services, collection)) throw frozen("is being frozen by an earlier update");
  const client = services.rpc(chain);
  const admin = collection.relayed ? services.relay.account(chain).address : null;
  const { info, isAdmin } = await askNode(chain, async () => {
    const call = {
      address: collection.address,
      abi: collectionAbi,
      blockNumber: await client.getBlockNumber(),
    } as const;
    const [info, isAdmin] = await Promise.all([
      client.readContract({ ...call, functionName: "getInfo" }),
      admin && client.readContract({ ...call, functionName: "hasRole", args: [adminRole, admin] }),
    ]);
    return { info, isAdmin };
  });
  const { runtimeConfig: runtime } = info;
  // Then no setting may change, not only the URIs, as clients of the original service expect.
  if (!runtime.metadataUpdatable) throw frozen("is frozen");
  const problems = new Problems();
  const next = applyChanges(runtime, changes);
  if (!next.metadataUpdatable && next.baseURI === "")
    problems.add("value_error", "freezeMetadata", "frozen without a base URI it could never be revealed");
  if (next.royaltiesBps > 0n && BigInt(next.royaltiesAddress) === 0n)
    problems.add("invalid_address", "royaltiesAddress", "royalties would go to the zero address");
  problems.check();
  if (!isAdmin) {
    const how = admin ? `: its owner can grant ADMIN_ROLE to ${admin}` : ": use the wallet that deployed it";
    throw new ServiceError("value_error", `the service is not an admin of this collection and cannot change it${how}`, {
      field: "collection",
      fix: admin
        ? `Let the collection's owner call grantRole with ADMIN_ROLE and ${admin}, then send the update again.`
        : "Change the collection by the wallet that deployed it.",
    });
  }
  return { current: runtime, next };
}

/** Whether an update that freezes the collection for good is under way. */
async function isBeingFrozen({ db }: Services, { chain, address }: Collection): Promise<boolean> {
  const row = await db
    .selectFrom("service.intent")
    .select("id")
    .where("chain_id", "=", chain.id)
    .where("predicted_addr", "=", toBytes(address))
    .where("kind", "=", "update")
    .where("state", "not in", endedStates)
    .where(sql<boolean>`payload -> 'changes' ->> 'metadataUpdatable' = 'false'`)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

function frozen(what: string): ServiceError {
  return new ServiceError(
    "metadata_frozen",
    `this collection's metadata ${what}: its URIs, mint starts, presale list and royalties cannot be changed here`,
    { field: "collection" },
  );
}
