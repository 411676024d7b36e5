import type { Address, Hex } from "viem";
import type { Chain } from "../chains.ts";
import { ServiceError } from "../errors.ts";
import { toBytes, toHex } from "../relay/bytes.ts";
import type { Services } from "../services.ts";
import { type AllowlistTree, buildAllowlistTree } from "./allowlist-tree.ts";

/** One presale list that a collection has or had; null stands for the empty list. */
export interface AllowlistVersion {
  root: Hex;
  allowlistId: string | null;
}

/** Trees by list. A stored list never changes, so an entry is right for ever; the count of wallets bounds the memory. */
const trees = new Map<string, { tree: Promise<AllowlistTree>; wallets: number }>();
const maxWallets = 400_000;

/**
 * Every presale list that a collection was ever given through this service, newest first.
 *
 * @throws ServiceError `not_found` for a collection that was not deployed here, or does not stand yet.
 */
export async function listAllowlists(
  services: Services,
  chain: Chain,
  collection: Address,
): Promise<AllowlistVersion[]> {
  const rows = await services.db
    .selectFrom("service.collection_allowlist")
    .select(["root", "allowlist_id", "stood"])
    .where("chain_id", "=", chain.id)
    .where("address", "=", toBytes(collection))
    .orderBy("created_at", "desc")
    .execute();
  if (!rows.some((row) => row.stood)) {
    throw new ServiceError("not_found", "no collection at this address was deployed here", { field: "collection" });
  }
  return rows.map((row) => ({ root: toHex(row.root), allowlistId: row.allowlist_id }));
}

/** The tree of a stored list. */
export async function readTree(services: Services, id: string): Promise<AllowlistTree> {
  const known = trees.get(id);
  if (known) {
    // The map keeps insertion order: what was used last goes last.
    trees.delete(id);
    trees.set(id, known);
    return await known.tree;
  }
  const entry = { tree: grow(services, id), wallets: 0 };
  trees.set(id, entry);
  try {
    const tree = await entry.tree;
    entry.wallets = tree.entries.length;
    forgetOldest();
    return tree;
  } catch (error) {
    trees.delete(id);
    throw error;
  }
}

async function grow(services: Services, id: string): Promise<AllowlistTree> {
  const { entries } = await services.db
    .selectFrom("service.allowlist")
    .select("entries")
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  return await buildAllowlistTree(entries);
}

function forgetOldest(): void {
  let kept = [...trees.values()].reduce((sum, entry) => sum + entry.wallets, 0);
  for (const [id, entry] of trees) {
    if (kept <= maxWallets || trees.size === 1) return;
    trees.delete(id);
    kept -= entry.wallets;
  }
}
