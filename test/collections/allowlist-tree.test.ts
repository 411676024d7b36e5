import { readFileSync } from "node:fs";
import { MerkleTree } from "merkletreejs";
import { concat, type Hex, keccak256 } from "viem";
import { describe, expect, test } from "vitest";
import { buildAllowlistTree } from "../../src/collections/allowlist-tree.ts";

interface Vector {
  id: string;
  whitelist: string[];
  deduplicated?: string[];
  root: Hex;
  proofs: Record<string, Hex[]>;
}
const golden = JSON.parse(readFileSync(new URL("../golden/merkle.json", import.meta.url), "utf8"));

const vectors = await Promise.all(
  (golden.vectors as Vector[]).map(async (vector) => ({ ...vector, tree: await buildAllowlistTree(vector.whitelist) })),
);

describe.each(vectors)("presale list $id", ({ tree, ...vector }) => {
  test("has the root of the original service", () => expect(tree.root).toBe(vector.root));

  test("keeps spelling and order, without repeats", () =>
    expect(tree.entries).toEqual(vector.deduplicated ?? vector.whitelist));

  test("gives each wallet its proof, in any spelling", () => {
    for (const [wallet, proof] of Object.entries(vector.proofs)) {
      expect(tree.proofOf(wallet)).toEqual(proof);
      expect(tree.proofOf(`0x${wallet.slice(2).toUpperCase()}`)).toEqual(proof);
    }
  });

  test("proofs lead to the root by the contract's own rule", () => {
    for (const wallet of tree.entries) {
      const climbed = (tree.proofOf(wallet) ?? []).reduce<Hex>(
        (node, sibling) => keccak256(concat(node < sibling ? [node, sibling] : [sibling, node])),
        keccak256(wallet.toLowerCase() as Hex),
      );
      expect(climbed).toBe(vector.root);
    }
  });
});

test("an empty list has the zero root and proves nobody", async () => {
  const tree = await buildAllowlistTree([]);
  expect(tree.root).toBe(`0x${"0".repeat(64)}`);
  expect(tree.proofOf(`0x${"1".repeat(40)}`)).toBeNull();
});

test("bad entries are all named with their position", async () => {
  const good = `0x${"1".repeat(40)}`;
  await expect(buildAllowlistTree([good, "0x12", good, "bob"])).rejects.toThrowError(
    expect.objectContaining({
      code: "invalid_address",
      details: {
        entries: [
          { position: 1, got: "0x12" },
          { position: 3, got: "bob" },
        ],
      },
    }),
  );
});

test("a list too long for the event loop is hashed beside it, to the root and proofs of merkletreejs itself", async () => {
  const wallets = Array.from({ length: 6_001 }, (_, index) => `0x${(index + 1).toString(16).padStart(40, "0")}`);
  let turns = 0;
  const ticking = setInterval(() => (turns += 1), 1);
  const tree = await buildAllowlistTree(wallets);
  clearInterval(ticking);
  // The loop went round while the tree was built: requests were answered meanwhile.
  expect(turns).toBeGreaterThan(3);
  const judge = new MerkleTree(
    wallets.map((wallet) => keccak256(wallet as Hex)),
    keccak256,
    { sortPairs: true },
  );
  expect(tree.root).toBe(judge.getHexRoot());
  for (const index of [0, 1, 4_095, 4_096, 5_999, 6_000]) {
    const leaf = judge.getLeaf(index);
    expect(tree.proofOf(wallets[index] ?? "")).toEqual(judge.getHexProof(leaf, index));
  }
});
