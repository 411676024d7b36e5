import { sql } from "kysely";
import { type Address, bytesToHex, type Hex } from "viem";
import type { Chain } from "../chains.ts";
import { toBytes, toHex } from "../db/bytes.ts";
import { requestAccount } from "../db/tenancy/tenant.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import { buildAllowlistTree, climb } from "./allowlist-tree.ts";
import { readTogether } from "./read-together.ts";
import type { StoredTree } from "./stored-tree.ts";

/** A presale list that a collection has or had; a null id means the empty list. */
export interface AllowlistVersion {
  root: Hex;
  allowlistId: string | null;
}

/** A whole list with its tree, for exporting all proofs. */
export interface WholeAllowlist {
  /** The wallets as spelled in the request, in the order of the leaves. */
  entries: readonly string[];
  /** The proof of the wallet at this position of `entries`, leaf side first. */
  proofAt(position: number): Hex[];
}

/**
 * Every presale list that a collection was given through this service, newest first.
 *
 * @throws ServiceError `not_found` for a collection that was not deployed here, or is not confirmed yet.
 */
export async function listAllowlists(
  services: Services,
  chain: Chain,
  collection: Address,
): Promise<AllowlistVersion[]> {
  const rows = await listTogether(services, { chainId: chain.id, collection }, null);
  if (!rows.some((row) => row.stood)) {
    throw new ServiceError("not_found", "no collection at this address was deployed here", { field: "collection" });
  }
  return rows.map((row) => ({ root: toHex(row.root), allowlistId: row.allowlist_id }));
}

interface VersionRow {
  root: Buffer;
  allowlist_id: string | null;
  stood: boolean;
}

const listTogether = readTogether(
  async (services: Services, wanted: readonly { chainId: number; collection: Address }[]) => {
    const { rows } = await sql<VersionRow & { position: number }>`
      SELECT w.position::int4 AS position, v.root, v.allowlist_id, v.stood
      FROM unnest(${wanted.map(({ chainId }) => chainId)}::int4[],
        ${wanted.map(({ collection }) => toBytes(collection))}::bytea[]) WITH ORDINALITY AS w (chain_id, address, position)
      CROSS JOIN LATERAL (
        SELECT root, allowlist_id, stood, created_at FROM service.collection_allowlist
        WHERE chain_id = w.chain_id AND address = w.address) v
      ORDER BY w.position, v.created_at DESC`.execute(services.db);
    const found: VersionRow[][] = wanted.map(() => []);
    for (const { position, ...row } of rows) found[position - 1]?.push(row);
    return found;
  },
);

/** The proof of one wallet, of which only the needed parts of the stored tree are read; null if it is not listed. */
export async function readProof(services: Services, id: string, wallet: Address): Promise<Hex[] | null> {
  const prove = () => proveTogether(services, { id, wallet }, null);
  let found = await prove();
  if (!found?.stored) {
    await storedOnce(services, id);
    found = await prove();
  }
  if (!found?.proof) return null;
  const { proof } = found;
  return Array.from({ length: proof.length / 32 }, (_, index) =>
    bytesToHex(proof.subarray(32 * index, 32 * (index + 1))),
  );
}

const proveTogether = readTogether(async (services: Services, wanted: readonly { id: string; wallet: Address }[]) => {
  const { rows } = await sql<{ stored: boolean; proof: Buffer | null }>`
    SELECT p.stored, p.proof
    FROM unnest(${wanted.map(({ id }) => id)}::uuid[], ${wanted.map(({ wallet }) => toBytes(wallet))}::bytea[])
      WITH ORDINALITY AS w (id, wallet, position)
    CROSS JOIN LATERAL service.allowlist_proof(w.id, w.wallet) p
    ORDER BY w.position`.execute(services.db);
  return rows;
});

/** A stored list with its tree. */
export async function readAllowlist(services: Services, id: string): Promise<WholeAllowlist> {
  const read = () =>
    services.db
      .selectFrom("service.allowlist")
      .select(["entries", "tree"])
      .where("id", "=", id)
      .executeTakeFirstOrThrow();
  let row = await read();
  if (!row.tree) {
    await storedOnce(services, id);
    row = await read();
  }
  const { entries, tree } = row;
  if (!tree) throw new Error(`the tree of list ${id} was not stored`);
  return { entries, proofAt: (position) => climb(tree, entries.length, position) };
}

/** Stores the tree of an accepted list. Never fails: without it, the first proof of the list builds the tree. */
export async function keepTree(services: Services, id: string | null, stored: StoredTree | null): Promise<void> {
  if (id === null || !stored) return;
  try {
    await storeTree(services, id, stored);
  } catch (error) {
    services.log.warn(
      { err: error, allowlist: id },
      "the tree of a presale list was not stored; its first proof builds it",
    );
  }
}

async function storeTree(services: Services, id: string, { nodes, members }: StoredTree): Promise<void> {
  // The tree of this list only, and only once.
  const root = Buffer.from(nodes.subarray(-32));
  await sql`SELECT service.store_allowlist_tree(${id}, ${root}, ${Buffer.from(nodes.buffer)}, ${Buffer.from(members.buffer)})`.execute(
    services.db,
  );
}

/** Trees being built, by list: all callers wait for the same build. */
const building = new Map<string, Promise<void>>();

/** Builds the missing tree of a stored list, once. */
async function storedOnce(services: Services, id: string): Promise<void> {
  const work = building.get(id) ?? buildStored(services, id).finally(() => building.delete(id));
  building.set(id, work);
  await work;
}

async function buildStored(services: Services, id: string): Promise<void> {
  const { entries } = await services.db
    .selectFrom("service.allowlist")
    .select("entries")
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  const { stored } = await buildAllowlistTree(entries, requestAccount());
  if (stored) await storeTree(services, id, stored);
}
