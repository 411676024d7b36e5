import { readFileSync } from "node:fs";
import { type Abi, parseAbi } from "viem";
import { expect, test } from "vitest";
import { abiModules, buildPublished } from "../../contracts/build/artifacts.ts";
import { publishAbi } from "../../src/collections/contract-abi.ts";
import { lines } from "./abi-lines.ts";
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

test("clones of products expose the ABIs of their specification", async () => {
  const artifacts = await buildPublished();
  const template = async (name: string) => (await artifacts.readArtifact(name)).abi as Abi;
  expect(lines(await template("ERC721NFTProductTemplate"))).toEqual(lines(parseAbi(golden721Abi)));
  expect(lines(await template("ERC1155NFTProductTemplate"))).toEqual(lines(parseAbi(golden1155Abi)));
});
