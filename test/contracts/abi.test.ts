import { readFileSync } from "node:fs";
import { type Abi, type AbiEvent, type AbiParameter, parseAbi } from "viem";
import { expect, test } from "vitest";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { collectionTemplateAbi } from "../../contracts/abi/collection-template.ts";
import { erc721ProductAbi } from "../../contracts/abi/erc721-product.ts";
import { erc1155ProductAbi } from "../../contracts/abi/erc1155-product.ts";
import { abiModules, buildPublished } from "../../contracts/build/artifacts.ts";
import { publishAbi } from "../../src/collections/contract-abi.ts";
import { goldenAbi } from "./golden-abi.ts";
import { golden721Abi, golden1155Abi } from "./golden-product-abi.ts";

test("the committed ABI modules are what the sources compile to", async () => {
  for (const [file, fresh] of Object.entries(await abiModules())) {
    const committed = readFileSync(new URL(`../../contracts/abi/${file}.ts`, import.meta.url), "utf8");
    expect(committed, `contracts/abi/${file}.ts is stale: npm run generate`).toBe(fresh);
  }
});

test("the ABI that the service hands out is the compiler's, internal types included, with signatures beside", async () => {
  const { abi } = await (await buildPublished()).readArtifact("Collection");
  const handedOut = publishAbi().map(({ signature: _, constant, payable, ...entry }) => {
    expect([constant, payable].filter(Boolean).length).toBeLessThan(2);
    return entry;
  });
  expect(handedOut).toEqual(abi);
});

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

test("products expose the ABIs of their specification, standalone and as clones", async () => {
  const artifacts = await buildPublished();
  const template = async (name: string) => (await artifacts.readArtifact(name)).abi as Abi;
  for (const abi of [erc721ProductAbi, await template("ERC721NFTProductTemplate")])
    expect(lines(abi)).toEqual(lines(parseAbi(golden721Abi)));
  for (const abi of [erc1155ProductAbi, await template("ERC1155NFTProductTemplate")])
    expect(lines(abi)).toEqual(lines(parseAbi(golden1155Abi)));
});

test("the comparison sees an extra error, a pure getter and a renamed struct field", () => {
  const golden = lines(parseAbi(goldenAbi));
  const changed = (from: string, to: string) =>
    lines(parseAbi(goldenAbi.map((line) => line.replace(from, to)) as never));
  expect(lines(parseAbi([...goldenAbi, "error Other()"]))).not.toEqual(golden);
  expect(changed("VERSION() view", "VERSION() pure")).not.toEqual(golden);
  expect(changed("bool metadataUpdatable;", "bool updatable;")).not.toEqual(golden);
});

type AbiEventParameter = AbiEvent["inputs"][number];

/** One line per ABI item with every name, type and mutability, sorted; the constructor is left out. */
function lines(abi: Abi): string[] {
  return abi
    .filter((item) => item.type !== "constructor")
    .map((item) => {
      const name = "name" in item ? item.name : "";
      const inputs = "inputs" in item ? item.inputs.map((each) => parameter(each)).join(", ") : "";
      const outputs = "outputs" in item ? item.outputs.map(parameter).join(", ") : "";
      const mutability = "stateMutability" in item ? item.stateMutability : "";
      return `${item.type} ${name}(${inputs}) ${mutability} (${outputs})`;
    })
    .sort();
}

function parameter(p: AbiParameter | AbiEventParameter): string {
  const components = "components" in p ? `{${p.components.map(parameter).join(", ")}}` : "";
  return `${p.type}${components}${"indexed" in p && p.indexed ? " indexed" : ""} ${p.name ?? ""}`;
}
