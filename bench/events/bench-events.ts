// `npm run -s mintyard -- dev bench events`: delays of events by webhook and stream, the cost of a thousand streams and
// ten thousand endpoints, and the cost of the outbox for the index.
// Options: --events 300 --streams 1000 --endpoints 10000 --rows 100000
// The last line is JSON with every figure. Exits with 1 when a bound of docs/measurements/events.md is missed.
import { readdirSync, readFileSync } from "node:fs";
import { Agent } from "node:http";
import { parseArgs } from "node:util";
import { type Address, parseEther } from "viem";
import { connect, type Wallet } from "../../bin/demo-wallets.ts";
import { createAccount } from "../../src/auth/keys.ts";
import { createDatabase, createPool } from "../../src/db/pool/pool.ts";
import { DataFolder } from "../../src/embedded/data-folder.ts";
import { WebhookReceiver } from "../../test/events/receiver.ts";
import { type RunningStack, startStackProcess } from "../../test/setup/stack.ts";
import { deploySale } from "../../test/web/web-fixture.ts";
import { Figures } from "../pages/figures.ts";
import { residentMegabytes } from "../pages/process-memory.ts";
import { compareIndex } from "./index-share.ts";
import { openStream, type StreamClient } from "./open-stream.ts";
import { compareOutbox } from "./outbox-cost.ts";

const { values: options } = parseArgs({
  options: {
    events: { type: "string", default: "300" },
    streams: { type: "string", default: "1000" },
    endpoints: { type: "string", default: "10000" },
    rows: { type: "string", default: "100000" },
  },
});
const [events, streams, endpoints, rows] = [options.events, options.streams, options.endpoints, options.rows].map(
  Number,
) as [number, number, number, number];
const figures = new Figures();
const streamsOfAccount = 20;
const endpointsOfAccount = 50;
const betweenMintsMs = 60;

const stack = await startStackProcess({ env: { WEBHOOKS_ALLOW_PRIVATE: "true", RATE_LIMITS: "off" } });
const receiver = await WebhookReceiver.start();
try {
  const { rest, rpcUrl, chainId } = stack.ready;
  const origin = new URL(rest).origin;
  const { createWallet } = connect(rpcUrl ?? "", chainId ?? 0);
  const owner = await createWallet();
  const collection = await deploySale(stack, owner.account.address, { supply: events * 3 + 1_000, perMint: 5 });
  const keys = await makeAccounts(
    stack,
    Math.ceil(Math.max(streams / streamsOfAccount, endpoints / endpointsOfAccount)),
  );
  const api = pidOf(stack, "processes/api");

  figures.say("one endpoint and one stream");
  const filter = { types: ["nft.transfer"], chains: ["goerli"] };
  await makeEndpoint(origin, stack.ready.apiKey, { url: `${receiver.url}/one`, ...filter });
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  const query = "types=nft.transfer&chain=goerli";
  await untilVerified(stack);
  const alone = await openStream(`${origin}/v1/events?${query}`, stack.ready.apiKey, agent);
  await mintEvenly(owner, collection, 20);
  const mined = await mintEvenly(owner, collection, events);
  const came = await arrivals("/one", mined.size + 20);
  report(
    "webhook_ms",
    [...mined].map(([hash, at]) => (came.get(hash) ?? Number.NaN) - at),
    [150, 500],
  );
  report(
    "stream_ms",
    [...mined].map(([hash, at]) => (alone.arrivals.get(hash) ?? Number.NaN) - at),
    [150, 500],
  );
  alone.close();

  figures.say("one dead endpoint among a hundred");
  for (let made = 0; made < 99; made += 1)
    await makeEndpoint(origin, keys[made % 10] ?? "", { url: `${receiver.url}/well`, ...filter });
  await untilVerified(stack);
  const well = await delaysOf("/well", 99, async () => await mintEvenly(owner, collection, 40, 400));
  receiver.answer = ({ path }) => (path === "/one" ? "hang" : { status: 204 });
  const beside = await delaysOf("/well", 99, async () => await mintEvenly(owner, collection, 40, 400));
  receiver.answer = () => ({ status: 204 });
  figures.note("hundred_endpoints_ms_p99", quantile(well, 0.99));
  figures.note("beside_a_dead_one_ms_p99", quantile(beside, 0.99));
  figures.note("beside_a_dead_one_ratio", quantile(beside, 0.99) / quantile(well, 0.99));
  await deleteEndpoints(origin, [stack.ready.apiKey, ...keys]);

  figures.say(`${streams} streams`);
  const clients: StreamClient[] = [];
  for (let opened = 0; opened < streams; opened += 1)
    clients.push(
      await openStream(`${origin}/v1/events?${query}`, keys[Math.floor(opened / streamsOfAccount)] ?? "", agent),
    );
  const before = [await metric(origin, "mintyard_stream_events_total"), await head(stack)] as const;
  const crowd = await mintEvenly(owner, collection, 100, 200);
  const lastHash = [...crowd.keys()].at(-1) ?? "";
  await until(() => clients.every((client) => client.arrivals.has(lastHash)));
  const times = clients.flatMap(({ arrivals: own }) =>
    [...crowd].map(([hash, at]) => (own.get(hash) ?? Number.NaN) - at),
  );
  report("crowd_stream_ms", times, [1_000, 1_000]);
  figures.check("crowd_api_megabytes", residentMegabytes(api), 400);
  const made = (await head(stack)) - before[1];
  figures.note("events_made", made);
  figures.check(
    "events_read_more_than_once",
    (await metric(origin, "mintyard_stream_events_total")) - before[0] - made,
    0,
  );
  for (const client of clients) client.close();

  figures.say(`${endpoints} endpoints with one event each`);
  for (let made = 0; made < endpoints; )
    await Promise.all(
      Array.from({ length: Math.min(20, endpoints - made) }, async () => {
        const key = keys[Math.floor(made++ / endpointsOfAccount)] ?? "";
        await makeEndpoint(origin, key, { url: `${receiver.url}/many`, ...filter });
      }),
    );
  await untilVerified(stack);
  receiver.received.length = 0;
  const began = performance.now();
  await mintEvenly(owner, collection, 1);
  await until(() => receiver.received.length >= endpoints, 300_000);
  figures.check("all_endpoints_seconds", (performance.now() - began) / 1_000, 60);
  const ids = new Set(receiver.received.map(({ headers }) => headers["webhook-id"]));
  figures.check("messages_too_many", receiver.received.length - endpoints + ids.size - 1, 0);
  agent.destroy();
} finally {
  await receiver.close();
  await stack.remove();
}

figures.say(`a live index follows ${rows} movements with the outbox off and on`);
const live = await compareIndex(rows);
figures.note("live_index_rows_per_second_off", live.off);
figures.note("live_index_rows_per_second_on", live.on);
figures.note("live_index_on_share", live.share);
figures.note("live_node_rows_per_second", live.node);

figures.say(`${rows} movements written with the outbox off and on`);
const cost = await compareOutbox(rows);
figures.note("outbox_rows_per_second", cost.onPerSecond);
figures.note("numbered_per_second", cost.numberedPerSecond);
figures.note("outbox_wanted_by_nobody_share", cost.unwantedShare);
figures.note("outbox_on_share", cost.onShare);
figures.note("event_bytes", cost.eventBytes);
figures.print();

async function makeAccounts({ dir }: RunningStack, count: number): Promise<string[]> {
  const env = DataFolder.environmentOf(dir);
  if (!env) throw new Error("the stack left no environment");
  const pool = createPool(env["DATABASE_URL"] ?? "", "bench", 2);
  const db = createDatabase(pool);
  const made: string[] = [];
  for (let account = 0; account < count; account += 1) {
    const key = crypto.randomUUID();
    await createAccount(db, env["KEY_PEPPER"] ?? "", { name: `bench ${account}`, tier: "enterprise", key });
    made.push(key);
  }
  await pool.end();
  return made;
}

/** Number of the newest event. */
async function head({ dir }: RunningStack): Promise<number> {
  const pool = createPool(DataFolder.environmentOf(dir)?.["DATABASE_URL"] ?? "", "bench", 1);
  const { rows } = await pool.query<{ sequence: bigint }>("SELECT sequence FROM service.event_head");
  await pool.end();
  return Number(rows[0]?.sequence);
}

/** Waits until all endpoints have answered their challenge. */
async function untilVerified({ dir }: RunningStack): Promise<void> {
  const pool = createPool(DataFolder.environmentOf(dir)?.["DATABASE_URL"] ?? "", "bench", 1);
  for (const end = performance.now() + 300_000; ; await new Promise((done) => setTimeout(done, 100))) {
    const { rows } = await pool.query<{ count: number }>(
      "SELECT count(*)::int AS count FROM service.webhook WHERE verified_at IS NULL",
    );
    if (rows[0]?.count === 0) break;
    if (performance.now() > end) throw new Error(`${rows[0]?.count} endpoints have not answered their challenge`);
  }
  await pool.end();
}

async function send(origin: string, key: string, method: string, path: string, body?: object) {
  const response = await fetch(`${origin}/v1/webhooks${path}`, {
    method,
    headers: { authorization: key, "content-type": "application/json" },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const answer = (await response.json()) as { webhooks?: { id: string }[] };
  if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
  return answer;
}

async function makeEndpoint(origin: string, key: string, input: object): Promise<void> {
  await send(origin, key, "POST", "", input);
}

async function deleteEndpoints(origin: string, of: readonly string[]): Promise<void> {
  for (const key of of)
    for (const { id } of (await send(origin, key, "GET", "")).webhooks ?? [])
      await send(origin, key, "DELETE", `/${id}`);
}

/** Mints single tokens, one per block. @returns when each token's block existed, by transaction. */
async function mintEvenly(wallet: Wallet, to: Address, count: number, pauseMs = betweenMintsMs) {
  const mined = new Map<string, number>();
  for (let made = 0; made < count; made += 1) {
    const hash = await wallet.sendTransaction({
      to,
      data: `0xa0712d68${"1".padStart(64, "0")}`,
      value: parseEther("0.01"),
    });
    // The local chain makes the block before it answers with the hash.
    mined.set(hash, performance.now());
    await new Promise((done) => setTimeout(done, pauseMs));
  }
  return mined;
}

/** When each transaction's first message arrived at a path, once there are so many messages. */
async function arrivals(path: string, count: number): Promise<Map<string, number>> {
  const own = () => receiver.received.filter((message) => message.path === path);
  await until(() => own().length >= count);
  const found = new Map<string, number>();
  for (const { body, at } of own().reverse()) found.set(hashOf(body), at);
  return found;
}

/** Delays of all messages at a path that a run of mints causes. */
async function delaysOf(path: string, each: number, run: () => Promise<Map<string, number>>): Promise<number[]> {
  receiver.received.length = 0;
  const mined = await run();
  const own = () => receiver.received.filter((message) => message.path === path);
  await until(() => own().length >= each * mined.size);
  return own().map(({ body, at }) => at - (mined.get(hashOf(body)) ?? Number.NaN));
}

function hashOf(body: string): string {
  return (JSON.parse(body) as { data: { transactionHash: string } }).data.transactionHash;
}

function report(name: string, times: readonly number[], [median, p99]: readonly [number, number]): void {
  figures.check(`${name}_median`, quantile(times, 0.5), median);
  figures.check(`${name}_p99`, quantile(times, 0.99), p99);
}

/** NaN stands for a message that never came and counts as the longest time. */
function quantile(values: readonly number[], share: number): number {
  const sorted = values.map((value) => (Number.isNaN(value) ? Number.POSITIVE_INFINITY : value)).sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

async function until(condition: () => boolean, withinMs = 120_000): Promise<void> {
  for (const end = performance.now() + withinMs; !condition(); ) {
    if (performance.now() > end) throw new Error("what was waited for did not come");
    await new Promise((done) => setTimeout(done, 20));
  }
}

async function metric(origin: string, name: string): Promise<number> {
  const text = await (await fetch(`${origin}/metrics`)).text();
  return Number(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, "m").exec(text)?.[1]);
}

/** A process of the stack, by a part of its command line. Linux. */
function pidOf({ pid }: RunningStack, part: string): number {
  for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    try {
      const [, parent] = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${name}/status`, "utf8")) ?? [];
      if (Number(parent) === pid && readFileSync(`/proc/${name}/cmdline`, "utf8").includes(part)) return Number(name);
    } catch {
      // The process has ended meanwhile.
    }
  }
  throw new Error(`the stack has no process ${part}`);
}
