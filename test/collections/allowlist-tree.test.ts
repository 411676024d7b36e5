import { readFileSync } from "node:fs";
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

describe.each(golden.vectors as Vector[])("presale list $id", (vector) => {
  const tree = buildAllowlistTree(vector.whitelist);

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

test("an empty list has the zero root and proves nobody", () => {
  const tree = buildAllowlistTree([]);
  expect(tree.root).toBe(`0x${"0".repeat(64)}`);
  expect(tree.proofOf(`0x${"1".repeat(40)}`)).toBeNull();
});

test("bad entries are all named with their position", () => {
  const good = `0x${"1".repeat(40)}`;
  expect(() => buildAllowlistTree([good, "0x12", good, "bob"])).toThrowError(
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
