import { createHash, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { MerkleTree } from "merkletreejs";
import { type Address, type Hex, keccak256 } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildAllowlistTree } from "../../src/collections/allowlist-tree.ts";
import { keepTree, readAllowlist, readProof } from "../../src/collections/allowlists.ts";
import { toBytes } from "../../src/db/bytes.ts";
import type { Services } from "../../src/services.ts";
import { ApiServer } from "../setup/api-server.ts";

let api: ApiServer;
let services: Services;
beforeAll(async () => {
  api = await ApiServer.start();
  ({ services } = api);
});
afterAll(() => api?.close());

/** A list as it was accepted, without its tree. */
async function store(
  entries: readonly string[],
): Promise<{ id: string; tree: Awaited<ReturnType<typeof buildAllowlistTree>> }> {
  const tree = await buildAllowlistTree(entries);
  const id = randomUUID();
  await api.database.db
    .insertInto("service.allowlist")
    .values({ id, root: toBytes(tree.root), entries: [...tree.entries] })
    .execute();
  return { id, tree };
}

const walletsOf = (count: number) =>
  Array.from(
    { length: count },
    (_, index) => `0x${createHash("sha256").update(`${count} ${index}`).digest("hex").slice(0, 40)}` as Address,
  );
const lower = (wallet: string) => wallet.toLowerCase() as Address;

/** The library of the original service. */
function judge(wallets: readonly string[]) {
  const leaves = wallets.map((wallet) => keccak256(lower(wallet)));
  const tree = new MerkleTree(leaves, keccak256, { sortPairs: true });
  return (index: number) => tree.getHexProof(tree.getLeaf(index), index) as Hex[];
}

interface Vector {
  id: string;
  whitelist: string[];
  proofs: Record<string, Hex[]>;
}
const golden = JSON.parse(readFileSync(new URL("../golden/merkle.json", import.meta.url), "utf8")) as {
  vectors: Vector[];
};

test("proofs that PostgreSQL reads are those of the original service", async () => {
  for (const { whitelist, proofs } of golden.vectors) {
    if (whitelist.length === 0) continue;
    const { id, tree } = await store(whitelist);
    await keepTree(services, id, tree.stored);
    for (const [wallet, proof] of Object.entries(proofs))
      expect(await readProof(services, id, lower(wallet))).toEqual(proof);
  }
});

test("every wallet of lists of every shape gets the proof of merkletreejs, and nobody else one", async () => {
  for (const count of [1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65]) {
    const wallets = walletsOf(count);
    const { id, tree } = await store(wallets);
    await keepTree(services, id, tree.stored);
    const proofOf = judge(wallets);
    const proofs = await Promise.all(wallets.map((wallet) => readProof(services, id, wallet)));
    expect(proofs).toEqual(wallets.map((_, index) => proofOf(index)));
    const whole = await readAllowlist(services, id);
    expect(wallets.map((_, index) => whole.proofAt(index))).toEqual(proofs);
    for (const thirdParty of walletsOf(100 + count).slice(0, 3))
      expect(await readProof(services, id, thirdParty)).toBeNull();
    expect(await readProof(services, id, `0x${"00".repeat(20)}`)).toBeNull();
    expect(await readProof(services, id, `0x${"ff".repeat(20)}`)).toBeNull();
  }
});

test("a proof of a long list is read from its stored tree, which no process builds again", async () => {
  const wallets = walletsOf(6_001);
  const { id, tree } = await store(wallets);
  await keepTree(services, id, tree.stored);
  // Nothing is left that a tree could be built from.
  await api.database.pool.query("UPDATE service.allowlist SET entries = '{}' WHERE id = $1", [id]);
  const restarted = await ApiServer.start({ DATABASE_URL: api.database.url });
  const proofOf = judge(wallets);
  try {
    for (const index of [0, 1, 4_095, 4_096, 5_999, 6_000])
      expect(await readProof(restarted.services, id, wallets[index] ?? "0x")).toEqual(proofOf(index));
    expect(await readProof(restarted.services, id, walletsOf(1)[0] ?? "0x")).toBeNull();
  } finally {
    await restarted.close();
  }
  // Pieces of it are read, and not the whole: it is not compressed.
  const { rows } = await api.database.pool.query(
    "SELECT attname, attstorage FROM pg_attribute WHERE attrelid = 'service.allowlist'::regclass AND attname IN ('tree', 'members')",
  );
  expect(rows.map(({ attstorage }) => attstorage)).toEqual(["e", "e"]);
});

test("a list from before trees were stored gets its tree with the first proof, once for all who ask", async () => {
  const wallets = walletsOf(300);
  const { id } = await store(wallets);
  const stored = async () => {
    const { rows } = await api.database.pool.query(
      "SELECT octet_length(tree) AS tree, octet_length(members) AS members, xmin::text AS writer FROM service.allowlist WHERE id = $1",
      [id],
    );
    return rows[0];
  };
  expect(await stored()).toMatchObject({ tree: null, members: null });
  const proofOf = judge(wallets);
  const proofs = await Promise.all(wallets.map((wallet) => readProof(services, id, wallet)));
  expect(proofs).toEqual(wallets.map((_, index) => proofOf(index)));
  const first = await stored();
  expect(first).toMatchObject({ members: 24 * 300 });
  await readAllowlist(services, id);
  expect(await stored()).toEqual(first);
});

test("a tree of another list is never stored for a list", async () => {
  const mine = await store(walletsOf(10));
  const other = await store(walletsOf(11));
  await keepTree(services, mine.id, other.tree.stored);
  const proofOf = judge(walletsOf(10));
  expect(await readProof(services, mine.id, walletsOf(10)[3] ?? "0x")).toEqual(proofOf(3));
});

test("a list counts at least what is stored of it, its tree included", async () => {
  const { pool } = api.database;
  const size = async () =>
    Number((await pool.query("SELECT pg_total_relation_size('service.allowlist')::int8 AS bytes")).rows[0].bytes);
  const before = await size();
  const { id, tree } = await store(walletsOf(5_000));
  await keepTree(services, id, tree.stored);
  const { rows } = await pool.query("SELECT bytes::int FROM service.allowlist WHERE id = $1", [id]);
  // The rest is what the pages of a table are not filled with.
  expect((await size()) - before).toBeLessThan(1.15 * rows[0].bytes);
});
