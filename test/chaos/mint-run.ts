import { setTimeout as sleep } from "node:timers/promises";
import { type Address, encodeFunctionData, type Hex, parseAbi, toHex } from "viem";
import { SeededGenerator } from "../setup/seeded-generator.ts";
import { matrixLines } from "./fault-kinds.ts";
import { rpc } from "./fleet.ts";
import { type MintAsk, type MintPlaces, makeMintAsk } from "./mint-asks.ts";
import { MintClients, sendV0 } from "./mint-clients.ts";
import { judgeMints, judgeSpending, type MintVerdict, type SpentFor } from "./mint-oracle.ts";
import { findBrokenRules } from "./rules.ts";
import { openStates, operate, settle } from "./run.ts";
import { Tally } from "./tally.ts";
import { Trouble } from "./trouble.ts";
import { World } from "./world.ts";

export interface MintChaosOptions {
  mints: number;
  seed: number;
  /** The run is given up after this long. */
  seconds: number;
  /** Share of requests to a node that meet a fault. */
  rate: number;
  /** How often each fault of the schedule is done. */
  repeats: number;
  onLine?: (line: string) => void;
  /** Told every fifteen seconds how far the run is. */
  onProgress?: (text: string) => void;
}

export interface MintChaosFigures extends MintVerdict {
  seconds: number;
  refused: number;
  violations: string[];
  spent: Omit<SpentFor, "violations">;
  matrix: string[];
  faults: string[];
  kills: number;
  reorgs: number;
  tally: Record<string, number>;
}

const rights = parseAbi([
  "function revokeNFTPortPermissions()",
  "function hasRole(bytes32 role, address account) view returns (bool)",
  "function ADMIN_ROLE() view returns (bytes32)",
]);
/** Mints while everything around the service breaks and one contract's owner takes its rights, and asks the chain. */
export async function runMintChaos(options: MintChaosOptions): Promise<MintChaosFigures> {
  const { seed, mints } = options;
  const tally = new Tally();
  const world = await World.start({ seed, permissive: false, defects: [], withOperator: true, onLine });
  function onLine(line: string): void {
    options.onLine?.(line);
    const crash = /^CHAOS_CRASH (\S+)/.exec(line)?.[1];
    if (crash) {
      tally.count("kills");
      tally.fault(`crash ${crash}`);
      if (crash === "accept-after-commit") tally.fault("charge booked, then a kill");
    }
    if (/an intent cannot go from|one version at a time|a nonce keeps its intent|never gives out a nonce/.test(line))
      tally.count("guards of the database that had to step in");
  }
  let reporting: NodeJS.Timeout | undefined;
  try {
    const places = await makePlaces(world);
    const begun = performance.now();
    const deadline = begun + options.seconds * 1_000;
    const asks = Array.from({ length: mints }, (_, index) => makeMintAsk(seed, index, places));
    const revocation = new Revocation(world, places.revoked);
    const clients = new MintClients(world, new SeededGenerator(seed), tally, deadline);
    const trouble = new Trouble(world, new SeededGenerator(seed + 3), tally, options.repeats);
    tally.fault("two workers");
    for (const proxy of world.proxies) proxy.rate = options.rate;
    reporting = setInterval(() => {
      const answered = asks.filter(isAnswered).length;
      const done = `${Math.round((performance.now() - begun) / 1000)} s: ${answered} of ${mints} answered`;
      options.onProgress?.(`${done}, ${Math.round(100 * trouble.progress)} % of the faults done`);
    }, 15_000);
    let over = false;
    const operator = operate(world, tally, () => over, false);
    const waiting = passTime(
      world,
      () => over,
      () => clients.calm,
    );
    const breaking = trouble
      .run(() => performance.now() < deadline)
      .then(() => {
        clients.calm = true;
      });
    const revoking = whenReached(() => trouble.progress >= 0.5 || performance.now() > deadline).then(() =>
      revocation.hold(),
    );
    await Promise.all([clients.run(asks, () => 20 + Math.floor(trouble.progress * mints)), breaking, revoking]);
    tally.count("seconds of posting", Math.round((performance.now() - begun) / 1000));
    for (const proxy of world.proxies) Object.assign(proxy, { rate: 0, otherChain: false, late: 0 });
    const revokedIn = await revocation.hold();
    const settled = await settle(world, deadline);
    over = true;
    await Promise.all([operator, waiting]);
    const seconds = Math.round((performance.now() - begun) / 1000);
    for (const proxy of world.proxies) for (const [fault, times] of proxy.met) tally.fault(fault, times);
    const verdict = await judgeMints(world, asks);
    const { violations, ...spent } = await judgeSpending(world, places.revoked, revokedIn);
    violations.push(...clients.wrong, ...(await findWrongRows(world, asks)));
    violations.push(...(await findBrokenRules(world.pool, 3, ["intents that ended without their collection"])));
    if (world.unstored() > 0) violations.push(`bytes sent before they were stored: ${world.unstored()}`);
    for (const what of ["guards of the database that had to step in", "deployed on the wrong chain"])
      if (tally.of(what) > 0) violations.push(`${what}: ${tally.of(what)}`);
    if (!settled) violations.push(`not settled in time: ${await openStates(world)}`);
    return {
      ...{ ...verdict, seconds, violations, spent },
      refused: asks.filter(({ refusal }) => refusal !== null).length + tally.of("refused: taken id"),
      matrix: matrixLines(tally.faults),
      faults: tally.faults.sort(),
      kills: tally.of("kills"),
      reorgs: tally.of("reorgs"),
      tally: tally.sorted,
    };
  } finally {
    clearInterval(reporting);
    await world.stop();
  }
}

function isAnswered({ hashes, refusal, requests, tokens }: MintAsk): boolean {
  return hashes.size > 0 || refusal !== null || requests.size === tokens.length;
}

/** Deployed by the service before anything breaks. */
async function makePlaces(world: World): Promise<MintPlaces> {
  if (!world.operator) throw new Error("the run needs an operator");
  const owner = await ownerOf(world);
  const deploy = async (name: string, type: string) => {
    const body = { chain: "goerli", name, symbol: "CHA", owner_address: owner, type, metadata_updatable: true };
    const made = await sendV0(world, "POST", "/contracts", { body });
    if (made?.status !== 200) throw new Error(`a contract was not made: ${JSON.stringify(made)}`);
    return await standing(world, String(made.body["transaction_hash"]));
  };
  return {
    erc721: [await deploy("Chaos A", "erc721"), await deploy("Chaos B", "erc721")],
    erc1155: [await deploy("Chaos C", "erc1155"), await deploy("Chaos D", "erc1155")],
    revoked: await deploy("Chaos E", "erc721"),
    easy: world.operator.easyContract,
    receiver: world.factory.address,
  };
}

/** Where a deployment stands, once it is confirmed. */
export async function standing(world: World, hash: string): Promise<Address> {
  for (let tries = 0; tries < 240; tries += 1) {
    const found = await sendV0(world, "GET", `/contracts/${hash}?chain=goerli`, { turn: tries });
    const address = found?.body["contract_address"];
    if (typeof address === "string") return address.toLowerCase() as Address;
    await sleep(250);
  }
  throw new Error(`nothing stands of ${hash}`);
}

/** An account that the node signs for. */
export async function ownerOf(world: World): Promise<Address> {
  const owner = (await rpc<Address[]>(world.nodeUrl, "eth_accounts"))[6];
  if (!owner) throw new Error("the node has no accounts");
  return owner;
}

/** The owner takes the service's rights on a contract, whatever happens to the transaction and its block. */
class Revocation {
  readonly #world: World;
  readonly #contract: Address;
  readonly #sent: string[] = [];

  constructor(world: World, contract: Address) {
    this.#world = world;
    this.#contract = contract;
  }

  /** @returns the block that took them. */
  async hold(): Promise<bigint> {
    const { nodeUrl, operator } = this.#world;
    const to = this.#contract;
    const from = await ownerOf(this.#world);
    const ask = async (data: Hex) => await rpc<Hex>(nodeUrl, "eth_call", [{ to, data }, "latest"]);
    const role = await ask(encodeFunctionData({ abi: rights, functionName: "ADMIN_ROLE" }));
    const args = [role, operator?.address ?? to] as const;
    const held = encodeFunctionData({ abi: rights, functionName: "hasRole", args });
    const data = encodeFunctionData({ abi: rights, functionName: "revokeNFTPortPermissions" });
    for (let tries = 0; tries < 60; tries += 1) {
      if (BigInt(await ask(held)) === 0n) return await this.#block();
      const fees = { maxFeePerGas: 10n ** 12n + BigInt(tries) * 2n * 10n ** 11n, maxPriorityFeePerGas: 10n ** 11n };
      const call = { from, to, data, gas: toHex(200_000) };
      const sent = rpc<string>(nodeUrl, "eth_sendTransaction", [
        { ...call, maxFeePerGas: toHex(fees.maxFeePerGas), maxPriorityFeePerGas: toHex(fees.maxPriorityFeePerGas) },
      ]);
      const hash = await sent.catch(() => null);
      if (hash) this.#sent.push(hash);
      await sleep(1_100);
    }
    throw new Error("the rights are not revoked");
  }

  async #block(): Promise<bigint> {
    const blocks: bigint[] = [];
    for (const hash of this.#sent) {
      const receipt = await rpc<{ blockNumber: Hex; status: Hex } | null>(
        this.#world.nodeUrl,
        "eth_getTransactionReceipt",
        [hash],
      );
      if (receipt?.status === "0x1") blocks.push(BigInt(receipt.blockNumber));
    }
    const [first] = blocks.sort((a, b) => Number(a - b));
    if (first === undefined) throw new Error("the rights are revoked by nobody");
    return first;
  }
}

/** What was accepted before the rights were revoked, and is held since without a nonce, ends after ten minutes: they pass at once. */
async function passTime(world: World, over: () => boolean, begun: () => boolean): Promise<void> {
  while (!over()) {
    await sleep(2_000);
    if (!begun()) continue;
    await world.pool
      .query(
        `UPDATE service.intent SET expires_at = clock_timestamp(), version = version + 1
         WHERE state = 'held' AND hold_reason = 'simulation' AND expires_at > clock_timestamp()`,
      )
      .catch(() => undefined);
  }
}

async function whenReached(reached: () => boolean): Promise<void> {
  while (!reached()) await sleep(100);
}

/** What was refused has no row; everything else has one request. */
async function findWrongRows(world: World, asks: readonly MintAsk[]): Promise<string[]> {
  const { rows } = await world.pool.query<{ to: string; n: number }>(
    `SELECT payload -> 'tokens' -> 0 ->> 'to' AS to, count(*)::int AS n FROM service.intent
     WHERE kind = 'mint' AND retry_number = 0 GROUP BY 1`,
  );
  const known = new Map(rows.map(({ to, n }) => [to.toLowerCase(), n]));
  const found: string[] = [];
  for (const ask of asks)
    for (const [place, { to }] of (ask.kind === "list" ? ask.tokens : ask.tokens.slice(0, 1)).entries()) {
      const count = known.get(to) ?? 0;
      known.delete(to);
      const least = ask.hashes.size > 0 || ask.requests.has(place) ? 1 : 0;
      const most = ask.kind === "receiver" ? 0 : 1;
      if (count < least || count > most) found.push(`${ask.kind} ${ask.index} has ${count} requests`);
    }
  if (known.size > 0) found.push(`requests that were to be refused: ${known.size}`);
  return found;
}
