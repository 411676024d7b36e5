import { setTimeout as pause } from "node:timers/promises";
import type pg from "pg";
import { decodeFunctionResult, encodeFunctionData, type Hex, toHex } from "viem";
import { afterEach, expect, test } from "vitest";
import { type Anvil, startAnvil } from "../indexing/anvil.ts";
import { contracts, startIndexer } from "../indexing/indexed-chain.ts";
import { createTestDatabase } from "../setup/database.ts";
import { SeededGenerator } from "../setup/seeded-generator.ts";
import { measuredSlowness, slowness, wait } from "../setup/wait.ts";
import type { Asked, Play, ReadFault } from "./fault.ts";
import { HonestNode } from "./honest-node.ts";
import { loadFaults, readFaults } from "./load-faults.ts";
import { startProvider } from "./provider.ts";

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

const seed = 20_261_127;
const perBatch = 200;
/** An even number; MIXTURE_BATCHES makes a longer run. */
const batches = Number(process.env["MIXTURE_BATCHES"] ?? 50);
/** Requests to an endpoint until it has another fault, or none. */
const lasting = 25;

/** A fault that is another one after every few requests; a third of the time there is none. */
class ChangingFault {
  readonly hits = "all";
  readonly met = new Set<string>();
  /** How long one fault lasted at most, with a request that it began for. */
  longestMs = 0;
  readonly #faults: readonly ReadFault[];
  readonly #random: SeededGenerator;
  #current: { fault: ReadFault; play: Play; before: number; since: number } | null = null;
  /** The start asks each endpoint for its chain: one that serves another then is an error of the configuration. */
  #left = 5;

  constructor(faults: readonly ReadFault[], random: SeededGenerator) {
    this.#faults = faults;
    this.#random = random;
  }

  readonly play = (): Play => async (asked: Asked) => {
    if (this.#current) this.longestMs = Math.max(this.longestMs, performance.now() - this.#current.since);
    if (this.#left === 0) this.#change();
    this.#left -= 1;
    const current = this.#current;
    const isHit = ({ method }: { method: string }) =>
      current !== null && (current.fault.hits === "all" || current.fault.hits.includes(method));
    if (!current || !asked.calls.some(isHit)) return "honest";
    this.met.add(current.fault.name);
    current.before += 1;
    return await current.play({ ...asked, isHit, before: current.before - 1 });
  };

  #change(): void {
    this.#left = this.#random.between(1, lasting);
    const fault = this.#random.chance(1 / 3) ? null : this.#random.pick(this.#faults);
    this.#current = fault && { fault, play: fault.play(), before: 0, since: performance.now() };
  }
}

/** For how long an index takes in no block although its chain has newer ones. */
function watchStops(pool: pg.Pool, node: Anvil): { longestMs(): number; end(): Promise<void> } {
  const ended = new AbortController();
  let [longest, block, since] = [0, -1n, performance.now()];
  const look = async () => {
    const { rows } = await pool.query<{ block_number: bigint }>("SELECT block_number FROM nft.heads");
    const shown = rows[0]?.block_number ?? -1n;
    if (shown !== block || shown >= (await node.head())) [block, since] = [shown, performance.now()];
    longest = Math.max(longest, performance.now() - since);
  };
  const watching = (async () => {
    while (!ended.signal.aborted) {
      await look();
      await pause(100, undefined, { signal: ended.signal }).catch(() => undefined);
    }
  })();
  return {
    longestMs: () => longest,
    end: async () => {
      ended.abort();
      await watching;
    },
  };
}

test(`${batches * perBatch} tokens through three endpoints whose faults change all the time are indexed as the contract has them`, {
  timeout: 300_000 * slowness,
}, async () => {
  // What only a proof would show is for VERIFY=proofs; here the default of public chains is used.
  const faults = readFaults(await loadFaults())
    .map(([, fault]) => fault)
    .filter(({ ends, unmet }) => ends.logs !== undefined && ends.logs !== "sampled" && unmet === undefined);
  const [database, node] = await Promise.all([createTestDatabase(), startAnvil()]);
  open.push(database.drop, node.stop);
  const nft = await node.deploy(contracts().Erc1155, ["https://example.com/"]);
  let minted = 0;
  const mint = async (count: number) => {
    for (let made = 0; made < count; made += 1, minted += 1) {
      const ids = Array.from({ length: perBatch }, (_, id) => BigInt(minted * perBatch + id));
      const amounts = ids.map((id) => (id % 7n) + 1n);
      await node.call(nft, "mintBatch", [node.account(minted % 5), ids, amounts, "0x"]);
      await node.mine();
    }
  };
  await mint(batches / 2);
  await node.rpc("anvil_mine", ["0x28"]);
  const random = new SeededGenerator(seed);
  const changing = [1, 2, 3].map(() => new ChangingFault(faults, random));
  const providers = await Promise.all(changing.map((fault) => startProvider(new HonestNode(node.url), fault)));
  open.push(() => Promise.all(providers.map(({ stop }) => stop())));
  const indexer = await startIndexer(database.url, providers.map(({ url }) => url).join(","), {
    VERIFY_GOERLI: "logs",
  });
  open.push(indexer.end);
  const stops = watchStops(database.pool, node);
  open.push(stops.end);
  await mint(batches / 2);
  const head = await node.head();
  const shown = async () =>
    (await database.pool.query<{ block_number: bigint }>("SELECT block_number FROM nft.heads")).rows[0]?.block_number;
  await wait(`block ${head}`, shown, {
    until: (block) => (block ?? -1n) >= head,
    withinMs: 200_000,
    lines: () => indexer.log().split("\n"),
  });

  const { rows } = await database.pool.query<{ token_id: string; owner: Buffer; amount: string }>(
    "SELECT token_id::text, owner, amount::text FROM nft.holdings WHERE contract = decode($1, 'hex')",
    [nft.address.slice(2)],
  );
  const tokens = minted * perBatch;
  expect(tokens).toBe(batches * perBatch);
  const indexed = new Map(rows.map(({ token_id, owner, amount }) => [`${token_id} ${toHex(owner)}`, amount]));
  const lacking = Array.from({ length: minted }, (_, batch) => batch).filter(
    (batch) => !indexed.has(`${batch * perBatch} ${node.account(batch % 5).toLowerCase()}`),
  );
  expect(lacking, `batches that the index lacks; its log:\n${indexer.log()}`).toEqual([]);
  expect(indexed.size).toBe(tokens);
  for (let batch = 0; batch < minted; batch += 1) {
    const owner = node.account(batch % 5).toLowerCase() as Hex;
    const ids = Array.from({ length: perBatch }, (_, id) => BigInt(batch * perBatch + id));
    const args = [ids.map(() => owner), ids] as const;
    const data = encodeFunctionData({ abi: nft.abi, functionName: "balanceOfBatch", args });
    const result = await node.rpc<Hex>("eth_call", [{ to: nft.address, data }, "latest"]);
    const balances = decodeFunctionResult({ abi: nft.abi, functionName: "balanceOfBatch", data: result }) as bigint[];
    expect(ids.map((id) => indexed.get(`${id} ${owner}`))).toEqual(balances.map(String));
  }
  for (const { met } of changing) expect(met.size).toBeGreaterThan(0);
  const met = new Set(changing.flatMap((one) => [...one.met])).size;
  const longestFaultMs = Math.round(Math.max(...changing.map(({ longestMs }) => longestMs)));
  const longestStopMs = Math.round(stops.longestMs());
  console.log(JSON.stringify({ seed, met, longestFaultMs, longestStopMs }));
  // A question that hangs is given up after nine seconds, also one that was asked as the fault ended.
  expect(longestStopMs).toBeLessThan(longestFaultMs + 10_000 * measuredSlowness);
});
