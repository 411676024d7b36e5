import { keccak256, stringToHex } from "viem";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import type { RuntimeConfig } from "../../contracts/abi/config.ts";
import type { Chain } from "../chains.ts";
import { ServiceError } from "../errors/errors.ts";
import { askNode } from "../rpc/nodes.ts";
import type { Services } from "../services.ts";
import { applyChanges, type ConfigChanges } from "../transactions/store/payloads.ts";
import type { Collection } from "./collections.ts";
import { Problems } from "./problems.ts";

/** What no update changes; clients repeat it by habit. Addresses in any letter case. */
export interface FixedMembers {
  name?: string | undefined;
  symbol?: string | undefined;
  maxSupply?: bigint | undefined;
  reservedSupply?: bigint | undefined;
  tokensPerMint?: bigint | undefined;
  mintPriceWei?: bigint | undefined;
  treasuryAddress?: string | undefined;
}

const adminRole = keccak256(stringToHex("ADMIN_ROLE"));

/**
 * Compares an update with the collection as the chain has it, at one block, before any gas is spent.
 *
 * @returns its settings there, and what the update makes of them.
 * @throws ServiceError `metadata_frozen`; `value_error` for fixed members that differ, a freeze that would
 *   hide the collection for ever, or a collection that the service's wallet may not change.
 */
export async function checkAgainstChain(
  services: Services,
  chain: Chain,
  collection: Collection,
  changes: ConfigChanges,
  fixed: FixedMembers,
): Promise<{ current: RuntimeConfig; next: RuntimeConfig }> {
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
  const { deploymentConfig: deployment, runtimeConfig: runtime } = info;
  // All of them are fixed then, not the URIs alone: so it was for clients of the original service.
  if (!runtime.metadataUpdatable) throw frozen("is frozen");
  const problems = new Problems();
  const same: Record<keyof FixedMembers, unknown> = {
    name: deployment.name,
    symbol: deployment.symbol,
    maxSupply: deployment.maxSupply,
    reservedSupply: deployment.reservedSupply,
    tokensPerMint: deployment.tokensPerMint,
    mintPriceWei: runtime.publicMintPrice,
    treasuryAddress: deployment.treasuryAddress.toLowerCase(),
  };
  for (const [field, current] of Object.entries(same) as [keyof FixedMembers, unknown][]) {
    const given = field === "treasuryAddress" ? fixed[field]?.toLowerCase() : fixed[field];
    if (given !== undefined && given !== current)
      problems.add("value_error", field, `this cannot be changed after deployment; it is ${current}`);
  }
  const next = applyChanges(runtime, changes);
  if (!next.metadataUpdatable && next.baseURI === "")
    problems.add("value_error", "freezeMetadata", "frozen without a base URI it could never be revealed");
  if (next.royaltiesBps > 0n && BigInt(next.royaltiesAddress) === 0n)
    problems.add("invalid_address", "royaltiesAddress", "royalties would go to the zero address");
  if (!isAdmin) {
    const how = admin ? `: its owner can grant ADMIN_ROLE to ${admin}` : ": use the wallet that deployed it";
    problems.add(
      "value_error",
      "collection",
      `the service is not an admin of this collection and cannot change it${how}`,
    );
  }
  problems.check();
  return { current: runtime, next };
}

export function frozen(what: string): ServiceError {
  return new ServiceError(
    "metadata_frozen",
    `this collection's metadata ${what}: its URIs, mint starts, presale list and royalties cannot be changed here`,
    { field: "collection" },
  );
}
