import { expect, test } from "vitest";
import { composeItems, composeNft } from "../../src/nfts/compose.ts";
import { factsOf, layoutOf } from "../../src/nfts/item.ts";
import { ByteWriter, ItemBytes } from "../../src/nfts/item-bytes.ts";
import { liveNames } from "../../src/nfts/item-sql.ts";
import { itemMark, partMark } from "../../src/nfts/rendered.ts";
import type { NftShape } from "../../src/nfts/shape.ts";

const layout = layoutOf({ live: new Set(liveNames), document: true, stored: true }, 0);
const facts = factsOf({ publicUrl: "https://nft.example" } as never, "goerli", true);
const names = [
  ...["chain", "contractAddress", "tokenId", "standard", "owner", "amount", "mintedAt", "name", "description"],
  ...["metadata", "fileUrl", "cachedFileUrl", "metadataUpdatedAt"],
];
const shape = names.map((name) => ({ name, field: name })) as unknown as NftShape;

/** An item whose parts are made from their place, some of them empty; of a page of `count`. */
function pageOf(count: number, document: string): string[][] {
  return Array.from({ length: count }, (_, item) => {
    const parts = Array.from({ length: layout.parts }, (_, part) =>
      (item + part) % 4 === 0 ? "" : `"p${item}.${part}é"`,
    );
    const put = (name: string, value: string) => {
      parts[layout.at(name as never)] = value;
    };
    put("contractAddress", "ab".repeat(20));
    put("tokenId", String(item));
    put("standard", "ERC721");
    put("owner", item % 5 === 0 ? "" : "cd".repeat(20));
    put("amount", String(item + 1));
    put("mintedAt", item % 2 === 0 ? "" : "1700000000");
    put("metadata", item % 3 === 0 ? "" : document);
    put("cachedFileUrl", '"bafy/1"');
    put("metadataUpdatedAt", "2026-01-02T03:04:05.123456");
    return parts;
  });
}

/** The page's value as PostgreSQL sends it, cut into pieces of a length. */
function piecesOf(items: readonly string[][], length: number): Buffer[] {
  const bytes = Buffer.from(items.map((parts) => parts.join(partMark)).join(itemMark));
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += length) pieces.push(bytes.subarray(at, at + length));
  return pieces;
}

test.each([1, 7, 4_096, 10_000_000])("a page in pieces of %i bytes is what its items are one by one", (length) => {
  const items = pageOf(21, `{"text":"${"ü".repeat(300)}"}`);
  const bytes = new ItemBytes(piecesOf(items, length), layout.parts, 21);
  expect(bytes.count).toBe(21);
  const beside = { facts, contract: () => null };
  const write = composeNft(shape, layout, true);
  const each = Array.from({ length: 20 }, (_, at) => write(bytes.item(at), beside));
  const page = composeItems(shape, layout, true)(bytes, 20, beside);
  expect(page.toString("latin1")).toBe(each.join(","));
  const read = JSON.parse(`[${page.toString()}]`) as Record<string, unknown>[];
  expect(read[1]).toMatchObject({
    tokenId: "1",
    mintedAt: "2023-11-14T22:13:20.000Z",
    metadata: { text: "ü".repeat(300) },
  });
  expect(read[0]).toMatchObject({ contractAddress: `0x${"ab".repeat(20)}`, metadata: null, mintedAt: null });
});

test("a page of many megabytes is whole, and the next one is its own", () => {
  const items = pageOf(50, `{"text":"${"x".repeat(100_000)}"}`);
  const write = composeItems(shape, layout, true);
  const beside = { facts, contract: () => null };
  const large = write(new ItemBytes(piecesOf(items, 65_536), layout.parts, 51), 50, beside);
  const small = write(new ItemBytes(piecesOf(items.slice(0, 1), 65_536), layout.parts, 51), 1, beside);
  expect(large.length).toBeGreaterThan(3_000_000);
  expect(JSON.parse(`[${large.toString()}]`)).toHaveLength(50);
  expect(large.toString().startsWith(small.toString())).toBe(true);
});

test("items that are cut otherwise than the statement gives them are refused", () => {
  expect(() => new ItemBytes(piecesOf([["a", "b", "c"]], 100), 2, 10)).toThrow("another layout");
  expect(() => new ItemBytes(piecesOf([["a"], ["b"], ["c"]], 100), 1, 2)).toThrow("another layout");
});

test("a writer is empty after its bytes are taken, whatever a failed page left", () => {
  const writer = new ByteWriter();
  writer.latin1("left");
  writer.reset();
  writer.put(Buffer.from("a"));
  writer.copy(Buffer.from("-bcd-"), 1, 4);
  expect(writer.take().toString()).toBe("abcd");
  expect(writer.take().length).toBe(0);
});
