import { readFileSync } from "node:fs";
import {
  type Address,
  concatHex,
  createTestClient,
  encodeDeployData,
  encodeFunctionData,
  type Hash,
  type Hex,
  http,
} from "viem";
import { input } from "../collections/launch-fixture.ts";
import { SignFixture } from "../collections/sign-fixture.ts";
import { type CompiledContract, compileSolidity } from "../setup/compile.ts";
import { SeededGenerator } from "../setup/seeded-generator.ts";

export interface RaceFigures {
  /** Creators whose pending bytes were raced. */
  creators: number;
  /** How often the front-runner was mined first. */
  superseded: number;
  /** Contracts of front-runners that the account was shown as its collection. */
  trapsListed: Address[];
  /** Collections of creators that were not listed at the end. */
  missing: string[];
}

const crowd = 5;
const gas = 9_000_000n;
const compiled = () =>
  compileSolidity(readFileSync(new URL("../fixtures/Traps.sol", import.meta.url), "utf8")) as Record<
    string,
    CompiledContract
  >;

/**
 * Creators send prepared bytes, and front-runners who see them pending put a trap around them or send a copy; fees drawn
 * by the random decide who is mined first, and the worker looks in between.
 */
export async function raceCreators(seed: number, creators: number): Promise<RaceFigures> {
  const random = new SeededGenerator(seed);
  // All creators are one account, which prepares more in a second than it may by itself.
  const fixture = await SignFixture.start({ READER_CALLS_PER_SECOND: "10000" });
  const traps = compiled();
  const node = createTestClient({ mode: "hardhat", transport: http(fixture.launch.h.node.url) });
  const figures: RaceFigures = { creators, superseded: 0, trapsListed: [], missing: [] };
  try {
    const own = new Map<string, Address>();
    for (let done = 0; done < creators; done += crowd) {
      const racers = await Promise.all(Array.from({ length: Math.min(crowd, creators - done) }, enter));
      await node.setAutomine(false);
      const sent: { name: string; creation: Hash; trap: Hash }[] = [];
      for (const { name, data, creator, runner, carrier } of racers) {
        const call = wrap(data, creator.account.address, carrier);
        const [first, second] = [random.between(1, 50), random.between(1, 50)].map((tip) => ({
          gas,
          maxPriorityFeePerGas: BigInt(tip) * 10n ** 9n,
          maxFeePerGas: 10n ** 11n,
        }));
        const creation = await creator.sendTransaction({ data, ...first });
        if (random.chance(0.3)) await fixture.detect();
        sent.push({ name, creation, trap: await runner.sendTransaction({ ...call, ...second }) });
      }
      for (let blocks = 0; blocks < 4 * crowd; blocks += 1) {
        await node.mine({ blocks: 1 });
        if (random.chance(0.3)) await fixture.detect();
      }
      await node.setAutomine(true);
      for (const { name, creation, trap } of sent) {
        const [mine, theirs] = await Promise.all(
          [creation, trap].map((hash) => fixture.chain.waitForTransactionReceipt({ hash })),
        );
        if (!mine || !theirs || mine.status !== "success") throw new Error(`the creation of ${name} failed`);
        const before = theirs.blockNumber - mine.blockNumber || BigInt(theirs.transactionIndex - mine.transactionIndex);
        if (before < 0n) figures.superseded += 1;
        own.set(name, (mine.contractAddress ?? "0x").toLowerCase() as Address);
      }
      await fixture.detect();
    }
    const listed = await fixture.listed();
    const genuine = new Set(own.values());
    figures.trapsListed = listed.map(({ address }) => address).filter((address) => !genuine.has(address));
    const shown = new Set(listed.map(({ address }) => address));
    figures.missing = [...own].filter(([, address]) => !shown.has(address)).map(([name]) => name);
    return figures;
  } finally {
    await fixture.stop();
  }

  async function enter() {
    const [creator, runner] = [await fixture.wallet(), await fixture.wallet()];
    const given = input({ owner: creator.account.address, treasury: creator.account.address });
    const data = await fixture.prepare(given, creator.account.address);
    // Contracts that carry the bytes in a call stood there before.
    const carried = random.pick(["CalledTrap", "Deployer", null]);
    const carrier =
      carried && (await fixture.mined(runner.sendTransaction({ data: creationOf(carried) }))).contractAddress;
    return {
      name: String(given["name"]),
      data,
      creator,
      runner,
      carrier: carrier ? { name: carried, address: carrier } : null,
    };
  }

  function creationOf(name: string, args: unknown[] = []): Hex {
    const trap = traps[name];
    if (!trap) throw new Error(`no contract ${name}`);
    return encodeDeployData({ abi: trap.abi, bytecode: trap.bytecode, args });
  }

  function wrap(data: Hex, owner: Address, carrier: { name: string | null; address: Address } | null) {
    const abi = traps[carrier?.name ?? ""]?.abi;
    if (carrier && abi) {
      const call =
        carrier.name === "Deployer"
          ? { functionName: "deploy", args: [data] }
          : { functionName: "carry", args: [data, owner] };
      return { to: carrier.address, data: encodeFunctionData({ abi, ...call }) };
    }
    return random.pick([
      { data: creationOf("CreatedTrap", [data, owner]) },
      { data: concatHex([creationOf("CreatedTrap", [data, owner]), data]) },
      { data: concatHex([data, "0x00"]) },
      { data },
    ]);
  }
}
