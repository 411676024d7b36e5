import { readFileSync } from "node:fs";
import { type Address, concatHex, encodeDeployData, getAddress, type Hash, type Hex, parseEther } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { type CompiledContract, compileSolidity } from "../setup/compile.ts";
import { input } from "./launch-fixture.ts";
import { SignFixture } from "./sign-fixture.ts";

// A third party sees the creator's transaction while it is pending, and is mined first with something of its own.
type Wallet = Awaited<ReturnType<SignFixture["wallet"]>>;
let fixture: SignFixture;
let traps: Record<"CreatedTrap" | "CalledTrap" | "Deployer", CompiledContract>;
let creator: Wallet;
let thirdParty: Wallet;
beforeAll(async () => {
  traps = compileSolidity(readFileSync(new URL("../fixtures/Traps.sol", import.meta.url), "utf8")) as typeof traps;
  fixture = await SignFixture.start();
  [creator, thirdParty] = [await fixture.wallet(), await fixture.wallet()];
});
afterAll(() => fixture?.stop());

const price = parseEther("0.01");
const request = () => input({ owner: creator.account.address, treasury: creator.account.address });
const deploy = (name: keyof typeof traps, args: unknown[] = []) =>
  encodeDeployData({ abi: traps[name].abi, bytecode: traps[name].bytecode, args });
const made = async (sent: Promise<Hash>) =>
  ((await fixture.mined(sent)).contractAddress ?? "0x").toLowerCase() as Address;
const call = async (name: keyof typeof traps, functionName: string, args: unknown[]) => {
  const address = await made(thirdParty.sendTransaction({ data: deploy(name) }));
  const sent = thirdParty.writeContract({ address, abi: traps[name].abi, functionName, args, gas: 16_000_000n });
  return { address, hash: (await fixture.mined(sent)).transactionHash };
};
const lookUp = async (hash: Hash) => await fixture.api.get(`/v0/contracts/${hash}?chain=goerli`);

/** Judged by the chain: a mint at what is listed gives a token, and its money can only go to the treasury. */
async function expectGenuine(address: Address): Promise<void> {
  const buyer = await fixture.wallet();
  const abi = collectionAbi;
  await fixture.mined(buyer.writeContract({ address, abi, functionName: "mint", args: [1n], value: price }));
  const ask = { address, abi } as const;
  const owner = await fixture.chain.readContract({ ...ask, functionName: "ownerOf", args: [0n] });
  expect(owner).toBe(buyer.account.address);
  expect(await fixture.chain.getBalance({ address })).toBe(price);
  const before = await fixture.chain.getBalance({ address: creator.account.address });
  await fixture.mined(
    creator.writeContract({ ...ask, functionName: "withdrawFees", gasPrice: parseEther("0.00000001") }),
  );
  expect(await fixture.chain.getBalance({ address })).toBe(0n);
  expect(await fixture.chain.getBalance({ address: creator.account.address })).toBeGreaterThan(before);
}

const attempts: Record<string, (data: Hex) => Promise<{ address: Address; hash: Hash }>> = {
  "a trap whose constructor takes the pending bytes as an argument": async (data) => {
    const sent = thirdParty.sendTransaction({ data: deploy("CreatedTrap", [data, creator.account.address]) });
    const { contractAddress, transactionHash } = await fixture.mined(sent);
    return { address: contractAddress as Address, hash: transactionHash };
  },
  "a trap whose creation ends with the pending bytes": async (data) => {
    const trap = deploy("CreatedTrap", [await fixture.prepare(request()), creator.account.address]);
    const { contractAddress, transactionHash } = await fixture.mined(
      thirdParty.sendTransaction({ data: concatHex([trap, data]) }),
    );
    return { address: contractAddress as Address, hash: transactionHash };
  },
  "a trap that gets the pending bytes as calldata": async (data) =>
    await call("CalledTrap", "carry", [data, creator.account.address]),
  "the exact code, created by a contract of a third party's": async (data) => {
    const { address, hash } = await call("Deployer", "deploy", [data]);
    const ask = { address, abi: traps.Deployer.abi, functionName: "made" } as const;
    return { address: (await fixture.chain.readContract(ask)) as Address, hash };
  },
  "the pending bytes with more behind them": async (data) => {
    const sent = thirdParty.sendTransaction({ data: `${data}00` });
    const { contractAddress, transactionHash } = await fixture.mined(sent);
    return { address: contractAddress as Address, hash: transactionHash };
  },
  "the pending bytes as they are, from a third party's wallet": async (data) => {
    const { contractAddress, transactionHash } = await fixture.mined(thirdParty.sendTransaction({ data }));
    return { address: contractAddress as Address, hash: transactionHash };
  },
};

for (const [name, attack] of Object.entries(attempts)) {
  test(`${name}, mined first: it is never listed, and the creator's own collection is`, async () => {
    const given = request();
    const data = await fixture.prepare(given, creator.account.address);
    const { address, hash } = await attack(data);
    // It says what the real one would.
    const ask = { address, abi: collectionAbi } as const;
    expect((await fixture.chain.readContract({ ...ask, functionName: "getInfo" })).deploymentConfig.owner).toBe(
      creator.account.address,
    );
    await fixture.detect();
    expect(await fixture.listedAs(given.name)).toEqual([]);
    expect((await lookUp(hash)).status).toBe(404);
    const { data: answer } = await fixture.api.graphql(
      'query ($c: Address!) { eligibility(chain: "goerli", collection: $c, wallet: $c) { eligible } }',
      { c: address.toLowerCase() },
    );
    expect(answer["eligibility"]).toBeNull();

    const sent = await fixture.mined(creator.sendTransaction({ data }));
    const own = (sent.contractAddress ?? "0x").toLowerCase() as Address;
    await fixture.detect();
    expect(await fixture.listedAs(given.name)).toEqual([own]);
    expect((await lookUp(sent.transactionHash)).body["contract_address"]).toBe(getAddress(own));

    // Claims that come later change nothing.
    const later = await attack(data);
    await fixture.detect();
    expect(await fixture.listedAs(given.name)).toEqual([own]);
    expect((await lookUp(later.hash)).status).toBe(404);
    await expectGenuine(own);
  });
}

test("a trap that an earlier release listed is withdrawn, and the creator's own collection is found after it", async () => {
  const given = request();
  const data = await fixture.prepare(given, creator.account.address);
  const trap = await fixture.mined(
    thirdParty.sendTransaction({ data: deploy("CreatedTrap", [data, creator.account.address]) }),
  );
  await fixture.api.services.pool.query(
    `UPDATE service.self_deployment SET address = decode($1, 'hex'), tx_hash = decode($2, 'hex'), block_number = $3,
       block_hash = decode($4, 'hex') WHERE payload ->> 'name' = $5`,
    [
      trap.contractAddress?.slice(2),
      trap.transactionHash.slice(2),
      trap.blockNumber,
      trap.blockHash.slice(2),
      given.name,
    ],
  );
  expect(await fixture.listedAs(given.name)).toHaveLength(1);
  const own = await made(creator.sendTransaction({ data }));
  await fixture.detect();
  expect(await fixture.listedAs(given.name)).toEqual([own]);
});
