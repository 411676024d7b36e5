import { toFunctionSelector } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { productOperatorAbi } from "../../contracts/abi/product-operator.ts";
import { carryOut } from "../../src/products/carry-out.ts";
import { createContract } from "../../src/products/create-contract.ts";
import type { ProductType } from "../../src/transactions/store/payloads.ts";
import { FaultyEndpoint } from "./faulty-endpoint.ts";
import { ProductScenario, randomAddress } from "./scenario.ts";

let s: ProductScenario;
beforeAll(async () => {
  s = await ProductScenario.start();
});
afterAll(async () => s?.stop());

const input = (type: ProductType, more: object = {}) => ({
  ...{ chain: "goerli", name: "Tickets é", symbol: "TIX", type, ownerAddress: randomAddress(), royaltiesBps: 750n },
  ...more,
});

test("no endpoint says where a new contract will stand", async () => {
  const predict = productOperatorAbi.filter((item) => item.type === "function" && item.name === "predict721");
  const [item] = predict;
  if (!item) throw new Error("no predict721");
  const faulty = await FaultyEndpoint.withAddress(s.h.node.url, toFunctionSelector(item), randomAddress());
  try {
    const services = s.h.process({ RPC_URL_GOERLI: [faulty.url, s.h.node.url].join(",") });
    const done = await carryOut(services, s.caller, await createContract(services, s.caller, input("erc721")));
    await s.h.until(services, done.request.id, ["finalized"]);
    expect(await s.h.chain.getCode({ address: done.request.contract })).toMatch(/^0x363d3d373d/);
  } finally {
    await faulty.stop();
  }
});

test("addresses of both kinds, with and without texts and roles, are those of the operator", async () => {
  const roles = [{ role: "mint" as const, addresses: [randomAddress()], freeze: true }];
  for (const wanted of [
    input("erc1155"),
    input("erc1155", { baseUri: "ipfs://b/", metadataUpdatable: true, roles }),
    input("erc721", { baseUri: "https://example.com/", royaltiesBps: undefined, roles }),
  ]) {
    const done = await carryOut(s.services, s.caller, await createContract(s.services, s.caller, wanted));
    await s.ended(done);
    expect(await s.h.chain.getCode({ address: done.request.contract })).toMatch(/^0x363d3d373d/);
  }
});
