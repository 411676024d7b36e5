import { getAddress, type Hex, keccak256, toHex, zeroAddress } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { collectionFactoryAbi } from "../../contracts/abi/collection-factory.ts";
import { collectionSalt, encodeInitData, predictCollection } from "../../contracts/abi/config.ts";
import { adminRole, chain, defaultAdminRole } from "./setup.ts";

let c: Awaited<ReturnType<typeof chain>>;
beforeAll(async () => {
  c = await chain();
});
afterAll(() => c.connection.close());

const intent = (text: string): Hex => keccak256(toHex(text));
const deploy = (id: Hex, owner: Hex, initData: Hex, from = c.relayer) =>
  from.writeContract({
    abi: collectionFactoryAbi,
    address: c.factory,
    functionName: "deploy",
    args: [id, owner, initData],
  });
const read = (id: Hex, owner: Hex, initData: Hex) =>
  c.client.readContract({
    abi: collectionFactoryAbi,
    address: c.factory,
    functionName: "predict",
    args: [id, owner, initData],
  });

test("predicted by the factory = predicted in TypeScript = where the collection is", async () => {
  for (const name of ["", "Lighthouse", "x".repeat(31), "é".repeat(32), '"quoted" \\ 🎈']) {
    const config = c.deploymentConfig({ name });
    const initData = encodeInitData(config, c.runtimeConfig(), true);
    const id = intent(`predict ${name}`);
    const predicted = predictCollection({
      factory: c.factory,
      template: c.template,
      intentId: id,
      owner: config.owner,
      initData,
    });
    expect(getAddress(predicted)).toBe(await read(id, config.owner, initData));
    expect(await c.client.getCode({ address: predicted })).toBeUndefined();
    await deploy(id, config.owner, initData);
    expect(await c.collection(predicted).read.name()).toBe(name);
  }
});

test("one intent deploys once, and another owner or configuration has another address", async () => {
  const config = c.deploymentConfig();
  const initData = encodeInitData(config, c.runtimeConfig(), true);
  const id = intent("once");
  await deploy(id, config.owner, initData);
  await expect(deploy(id, config.owner, initData)).rejects.toThrow("AlreadyDeployed");

  const other = encodeInitData(config, c.runtimeConfig(), false);
  const salts = [
    collectionSalt(id, config.owner, initData),
    collectionSalt(id, config.owner, other),
    collectionSalt(id, c.treasury.account.address, initData),
    collectionSalt(intent("other"), config.owner, initData),
  ];
  expect(new Set(salts).size).toBe(salts.length);
  await expect(deploy(id, c.treasury.account.address, initData)).rejects.toThrow("OwnerMismatch");
});

test("only a relayer deploys, and nobody while deployments are paused", async () => {
  const config = c.deploymentConfig();
  const initData = encodeInitData(config, c.runtimeConfig(), true);
  await expect(deploy(intent("gate"), config.owner, initData, c.owner)).rejects.toThrow("MissingRole");
  const write = (functionName: "pause" | "unpause") =>
    c.admin.writeContract({ abi: collectionFactoryAbi, address: c.factory, functionName });
  await write("pause");
  await expect(deploy(intent("gate"), config.owner, initData)).rejects.toThrow("DeploymentsPaused");
  await write("unpause");
  await deploy(intent("gate"), config.owner, initData);
});

test("the reason of a refused configuration reaches the relayer", async () => {
  const config = c.deploymentConfig({ owner: zeroAddress });
  const initData = encodeInitData(config, c.runtimeConfig(), true);
  await expect(deploy(intent("refused"), config.owner, initData)).rejects.toThrow("Contract must have an owner");
});

test("every getter and getInfo equal the request", async () => {
  const config = c.deploymentConfig();
  const runtime = c.runtimeConfig({ baseURI: "ipfs://base/", presaleMerkleRoot: intent("root") });
  const collection = c.collection(await c.deployClone(config, runtime));
  const info = await collection.read.getInfo();
  expect(info.version).toBe(20000n);
  expect(info.deploymentConfig).toEqual({ ...config, ...checksummed(config, "owner", "treasuryAddress") });
  expect(info.runtimeConfig).toEqual({ ...runtime, ...checksummed(runtime, "royaltiesAddress") });
  expect(await collection.read.symbol()).toBe(config.symbol);
  expect(await collection.read.maxSupply()).toBe(config.maxSupply);
  expect(await collection.read.availableSupply()).toBe(90n);
  expect(await collection.read.hasRole([defaultAdminRole, config.owner])).toBe(true);
  expect(await collection.read.hasRole([adminRole, c.relayer.account.address])).toBe(true);
});

test("the service admin is left out on request", async () => {
  const collection = c.collection(await c.deployClone(c.deploymentConfig(), c.runtimeConfig(), false));
  expect(await collection.read.hasRole([adminRole, c.relayer.account.address])).toBe(false);
});

test("initialize works once and from the factory only; the template and the standalone are locked", async () => {
  const args = [c.deploymentConfig(), c.runtimeConfig()] as const;
  const standalone = await c.deployStandalone(...args);
  for (const address of [await c.deployClone(...args), c.template, standalone]) {
    await expect(c.collection(address).write.initialize(args)).rejects.toThrow(
      "Initializable: contract is already initialized",
    );
  }
  // A clone of the template that a third party made.
  const bytecode: Hex = `0x3d602d80600a3d3981f3363d3d373d3d3d363d73${c.template.slice(2)}5af43d82803e903d91602b57fd5bf3`;
  const hash = await c.owner.deployContract({ abi: [], bytecode });
  const { contractAddress } = await c.client.waitForTransactionReceipt({ hash });
  if (!contractAddress) throw new Error("no clone");
  await expect(c.collection(contractAddress).write.initialize(args)).rejects.toThrow("Only the factory can initialize");
});

function checksummed<K extends string>(record: Record<K, Hex>, ...keys: K[]): Record<K, Hex> {
  return Object.fromEntries(keys.map((key) => [key, getAddress(record[key])])) as Record<K, Hex>;
}
