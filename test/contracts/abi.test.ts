import { type Abi, parseAbi } from "viem";
import { expect, test } from "vitest";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { collectionTemplateAbi } from "../../contracts/abi/collection-template.ts";
import { erc721ProductAbi } from "../../contracts/abi/erc721-product.ts";
import { erc1155ProductAbi } from "../../contracts/abi/erc1155-product.ts";
import { lines } from "./abi-lines.ts";
import { goldenAbi } from "./golden-abi.ts";
import { golden721Abi, golden1155Abi } from "./golden-product-abi.ts";

test("the golden ABI counts 52 functions, 8 events and 12 errors", () => {
  const types = (parseAbi(goldenAbi) as Abi).map((item) => item.type);
  const count = (type: string) => types.filter((each) => each === type).length;
  expect([count("function"), count("event"), count("error")]).toEqual([52, 8, 12]);
});

for (const [artifact, abi] of Object.entries({
  Collection: collectionAbi,
  CollectionTemplate: collectionTemplateAbi,
})) {
  test(`${artifact} exposes the ABI of the specification, nothing missing and nothing extra`, () => {
    expect(lines(abi)).toEqual(lines(parseAbi(goldenAbi)));
  });
}

test("the golden ABIs of products count 47 functions and 10 events, 50 and 11", () => {
  const count = (abi: Abi, type: string) => abi.filter((item) => item.type === type).length;
  const [one, many] = [parseAbi(golden721Abi) as Abi, parseAbi(golden1155Abi) as Abi];
  expect([count(one, "function"), count(one, "event"), one.length]).toEqual([47, 10, 57]);
  expect([count(many, "function"), count(many, "event"), many.length]).toEqual([50, 11, 61]);
});

test("products expose the ABIs of their specification", () => {
  expect(lines(erc721ProductAbi)).toEqual(lines(parseAbi(golden721Abi)));
  expect(lines(erc1155ProductAbi)).toEqual(lines(parseAbi(golden1155Abi)));
});

test("the comparison sees an extra error, a pure getter and a renamed struct field", () => {
  const golden = lines(parseAbi(goldenAbi));
  const changed = (from: string, to: string) =>
    lines(parseAbi(goldenAbi.map((line) => line.replace(from, to)) as never));
  expect(lines(parseAbi([...goldenAbi, "error Other()"]))).not.toEqual(golden);
  expect(changed("VERSION() view", "VERSION() pure")).not.toEqual(golden);
  expect(changed("bool metadataUpdatable;", "bool updatable;")).not.toEqual(golden);
});
