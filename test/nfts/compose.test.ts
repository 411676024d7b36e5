import { expect, test } from "vitest";
import { ByteWriter, Fixed, sourceOf, writeIsoSeconds } from "../../src/nfts/byte-writer.ts";
import { type ContractMember, itemsWriter as composeItems, listMark, type NftShape } from "../../src/nfts/compose.ts";
import { contractFields, storedNames, toIso, tokenFields } from "../../src/nfts/fields.ts";
import { factsOf, layoutOf } from "../../src/nfts/item.ts";
import { ContractBytes, ItemBytes } from "../../src/nfts/item-bytes.ts";
import { liveNames } from "../../src/nfts/item-sql.ts";
import { itemMark, partMark } from "../../src/nfts/rendered.ts";
import { textOf } from "./text-composer.ts";

const layout = layoutOf({ live: new Set(liveNames), document: true, stored: true }, 0);
const config = { publicUrl: "https://nft.example" } as never;
const facts = factsOf(config, "goerli", true);

/** Every member that an API can ask for, under names that JSON escapes. */
const contractMembers = [...Object.keys(contractFields), "id", "contractTypename", "listMark"].map((field) => ({
  name: `of "${field}"`,
  field,
})) as ContractMember[];
const shape = [
  // File information is shown as a group only.
  ...[
    ...Object.keys(tokenFields).filter((field) => field !== "fileInformation"),
    "id",
    "mintDate",
    "updatedDate",
    "null",
    "nftTypename",
  ].map((field) => ({
    name: `"${field}"`,
    field,
  })),
  { name: "contract", field: { group: "contract", members: contractMembers } },
  { name: "texts", field: { group: "contractTexts", members: contractMembers.slice(2, 5) } },
  {
    name: "deep",
    field: {
      group: "contract",
      members: [{ name: "in", field: { group: "contractTexts", members: contractMembers } }],
    },
  },
  { name: "none", field: { group: "contract", members: [] } },
  {
    name: "file",
    field: {
      group: "fileInformation",
      members: [
        { name: "height", field: "height" },
        { name: "t", field: "fileTypename" },
      ],
    },
  },
] as unknown as NftShape;

const addresses = Array.from({ length: 7 }, (_, at) => `${at}`.padStart(2, "a").repeat(20));

/** An item whose parts are made from their place, some of them empty; of a page of `count`. */
function pageOf(count: number, document: string): string[][] {
  return Array.from({ length: count }, (_, item) => {
    const parts = Array.from({ length: layout.parts }, (_, part) =>
      (item + part) % 4 === 0 ? "" : `"p${item}.${part}é"`,
    );
    const put = (name: string, value: string) => {
      parts[layout.at(name as never)] = value;
    };
    // Some beside others of their contract, some not.
    put("contractAddress", addresses[item % 10 < 4 ? 0 : item % 7] ?? "");
    put("tokenId", String(BigInt(item) ** 9n));
    put("standard", item % 7 === 6 ? "ERC1155" : "ERC721");
    put("owner", item % 5 === 0 ? "" : "cd".repeat(20));
    put("creator", item % 5 === 1 ? "" : "ef".repeat(20));
    put("supply", "1");
    put("amount", String(item + 1));
    put("holders", item % 2 === 0 ? "" : "ab".repeat(20));
    put("mintedAt", item % 3 === 0 ? "" : item === 7 ? "300000000000" : String(1_700_000_000 + item * 777_777));
    put("metadataStatus", item % 3 === 0 ? "" : "fresh");
    put("metadataError", item % 3 === 0 ? "not_found" : "");
    put("metadata", item % 3 === 0 ? "" : document);
    put("cachedFileUrl", ["null", '"bafy/1"', "link", ""][item % 4] ?? "");
    put("fileInformation", item % 3 === 0 ? "" : "1,2,3");
    put("metadataUpdatedAt", item % 4 === 2 ? "" : "2026-01-02T03:04:05.123456");
    return parts;
  });
}

/** Two of ERC-1155, in another order than the items; every third has no metadata. */
function contractsOf(): ContractBytes {
  const bytes = (items: string[][]) => Buffer.from(items.map((parts) => parts.join(partMark)).join(itemMark));
  const stored = (address: string) =>
    storedNames(contractFields).map((name, at) => (at % 4 === 3 ? "" : `"${name} of ${address} ü"`));
  return new ContractBytes(
    bytes([[addresses[4] ?? ""], [addresses[1] ?? ""]]),
    bytes(
      addresses
        .filter((_, at) => at % 3 !== 2)
        .map((address) => [address, ...stored(address)])
        .reverse(),
    ),
    50,
  );
}

/** The page's value as PostgreSQL sends it, with something behind it as in its message, or nothing. */
function bytesOf(items: readonly string[][], behind: number): Buffer {
  const text = items.map((parts) => parts.join(partMark)).join(itemMark);
  const all = Buffer.from(text + "!".repeat(behind));
  return all.subarray(0, all.length - behind);
}

/** Each item by itself, as texts. */
function oneByOne(bytes: ItemBytes, count: number, contracts: ContractBytes): string {
  const inCharacters = factsOf(config, "goerli", false);
  const contract = (address: string) => contracts.parts(address);
  const texts = Array.from({ length: count }, (_, at) => textOf(shape, layout, bytes.item(at), inCharacters, contract));
  return texts.join();
}

test.each([0, 1, 200])("a page with %i bytes behind it is what its items are one by one", (behind) => {
  const items = pageOf(51, `{"text":"${"ü".repeat(300)}"}`);
  const bytes = new ItemBytes(bytesOf(items, behind), layout.parts, 51);
  expect(bytes.count).toBe(51);
  const write = composeItems(shape, layout);
  const page = write({ items: bytes, contracts: contractsOf(), facts }, 50);
  expect(page.toString()).toBe(oneByOne(bytes, 50, contractsOf()));
  const text = page.toString().replaceAll(listMark, "null");
  const read = JSON.parse(`[${text}]`) as Record<string, Record<string, unknown>>[];
  expect(read[1]).toMatchObject({
    ...{ '"chain"': "goerli", '"tokenId"': "1", '"mintedAt"': "2023-11-23T22:16:17.000Z" },
    ...{ '"metadata"': { text: "ü".repeat(300) }, '"metadataUpdatedAt"': "2026-01-02T03:04:05.123Z" },
    contract: { 'of "name"': `name of ${addresses[0]} ü` },
  });
  expect(read[0]).toMatchObject({ '"metadata"': null, '"mintedAt"': null, '"cachedFileUrl"': null });
  expect(read.slice(0, 4).map((nft) => nft['"thumbnailUrl"'])).toEqual([
    ...[null, "https://nft.example/thumbnails/512/bafy/1"],
    ...[`https://nft.example/thumbnails/512/nfts/goerli/0x${addresses[0]}/512`, null],
  ]);
  const standards = new Set(read.map(({ contract }) => contract?.['of "standard"']));
  expect(standards).toEqual(new Set(["ERC721", "ERC1155"]));
  // The same once more, and with another page in between: nothing of an earlier page is left.
  const other = write(
    { items: new ItemBytes(bytesOf(items.slice(5, 9), 0), layout.parts, 5), contracts: contractsOf(), facts },
    4,
  );
  expect(JSON.parse(`[${other.toString().replaceAll(listMark, "null")}]`)).toHaveLength(4);
  expect(write({ items: bytes, contracts: contractsOf(), facts }, 50).toString()).toBe(page.toString());
});

test("a page of one contract has its record in each item", () => {
  const items = pageOf(20, "{}").map((parts) => [addresses[3] ?? "", ...parts.slice(1)]);
  const bytes = new ItemBytes(bytesOf(items, 0), layout.parts, 20);
  const stored = storedNames(contractFields).map((name) => `"${name}"`);
  for (const record of [null, Buffer.from([addresses[3], ...stored].join(partMark))]) {
    const one = ContractBytes.one("ERC721", record);
    const page = composeItems(shape, layout)({ items: bytes, contracts: one, facts }, 20);
    expect(page.toString()).toBe(oneByOne(bytes, 20, one));
  }
});

test("a page of many megabytes is whole, and the next one is its own", () => {
  const items = pageOf(50, `{"text":"${"x".repeat(100_000)}"}`);
  const write = composeItems(shape, layout);
  const page = (of: string[][]) => ({
    ...{ items: new ItemBytes(bytesOf(of, 0), layout.parts, 51), contracts: contractsOf(), facts },
  });
  const large = write(page(items), 50).toString().replaceAll(listMark, "null");
  const small = write(page(items.slice(0, 1)), 1)
    .toString()
    .replaceAll(listMark, "null");
  expect(large.length).toBeGreaterThan(3_000_000);
  expect(JSON.parse(`[${large}]`)).toHaveLength(50);
  expect(large.startsWith(small)).toBe(true);
});

test("items that are cut otherwise than the statement gives them are refused", () => {
  expect(() => new ItemBytes(bytesOf([["a", "b", "c"]], 0), 2, 10).open(0)).toThrow("another layout");
  expect(() => new ItemBytes(bytesOf([["a"]], 0), 2, 10).open(0)).toThrow("another layout");
  expect(() => new ItemBytes(bytesOf([["a"], ["b"], ["c"]], 0), 1, 2)).toThrow("more items");
});

test("what a writer copies is what is in its source, at every length and at its end", () => {
  const writer = new ByteWriter();
  const source = sourceOf(Buffer.from(Array.from({ length: 300 }, (_, at) => at % 251)).subarray(1, 299));
  const wanted: Buffer[] = [];
  for (let length = 0; length <= 130; length += 1)
    for (const start of [0, 3, source.bytes.length - length]) {
      writer.copy(source, start, start + length);
      wanted.push(source.bytes.subarray(start, start + length));
      writer.put(new Fixed("é".repeat(length % 9)));
      wanted.push(Buffer.from("é".repeat(length % 9), "latin1"));
    }
  expect(Buffer.concat(writer.take().pieces as Buffer[]).equals(Buffer.concat(wanted))).toBe(true);
});

test("a writer is empty after its bytes are taken, whatever a failed page left", () => {
  const writer = new ByteWriter();
  writer.latin1("left");
  writer.reset();
  writer.put(new Fixed("a"));
  writer.copy(sourceOf(Buffer.from("-bcd-")), 1, 4);
  writer.again(1, 3);
  writer.byte(0x21);
  expect(writer.take().toString()).toBe("abcdbc!");
  expect(writer.take().byteLength).toBe(0);
});

test("times are written as Date writes them, on the days around every leap day and beyond", () => {
  const writer = new ByteWriter();
  const days = Array.from({ length: 60_000 }, (_, at) => at * 19 + (at % 3));
  for (const day of days) {
    const seconds = String(day * 86_400 + ((day * 7_919) % 86_400));
    expect(writeIsoSeconds(writer, Buffer.from(`x${seconds}y`), 1, 1 + seconds.length)).toBe(true);
    const written = writer.take().toString();
    const judged = new Date(Number(seconds) * 1000).toISOString();
    if (`${written}.000Z` !== judged || toIso(seconds) !== judged)
      expect([seconds, written]).toEqual([seconds, judged]);
  }
  for (const odd of ["-1", "1.5", "123456789012"])
    expect(writeIsoSeconds(writer, Buffer.from(odd), 0, odd.length)).toBe(false);
  expect(writer.take().byteLength).toBe(0);
});
