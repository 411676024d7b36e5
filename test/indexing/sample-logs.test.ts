import { setTimeout as pause } from "node:timers/promises";
import type pg from "pg";
import { pino } from "pino";
import { encodeFunctionData } from "viem";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { Chain } from "../../src/chains.ts";
import { loadChains } from "../../src/config/chain-settings.ts";
import { connect, ensureNftViews } from "../../src/indexing/nft-views.ts";
import { type RpcGateway, startRpcGateway } from "../../src/indexing/rpc-gateway.ts";
import { LogSampler } from "../../src/indexing/sample-logs.ts";
import { FaultyEndpoint } from "../products/faulty-endpoint.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { wait } from "../setup/wait.ts";
import { type Anvil, startAnvil } from "./anvil.ts";
import { hostileContract, transferTopic, word } from "./hostile-cases.ts";
import { createLedger, insertLogs } from "./ledger-fixture.ts";

interface Log {
  blockNumber: string;
  logIndex: string;
}

const lines: string[] = [];
const log = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
const open: (() => Promise<unknown>)[] = [];
let database: TestDatabase;
let client: pg.Client;
let node: Anvil;
/** All transfers, by the healthy node. */
let all: Log[];
let count = 0;
let schema: string;

beforeAll(async () => {
  [database, node] = await Promise.all([createTestDatabase(), startAnvil()]);
  await ensureNftViews(database.url);
  client = await connect(database.url, "test");
  const nft = await node.deploy(hostileContract());
  for (let id = 1n; id <= 4n; id += 1n) {
    const logs = [id, id + 10n].map((one) => ({ topics: [transferTopic, word(0n), word(7n), word(one)], data: "0x" }));
    await node.send(nft.address, encodeFunctionData({ abi: nft.abi, functionName: "say", args: [logs] }));
    await node.mine();
  }
  all = await node.rpc("eth_getLogs", [{ fromBlock: "0x0", toBlock: "latest", topics: [transferTopic] }]);
  expect(all).toHaveLength(8);
});
beforeEach(async () => {
  lines.length = 0;
  count += 1;
  schema = `c31337_${count}`;
  await createLedger(database.pool, schema);
  await client.query(
    "INSERT INTO nft.index_version (schema_name, chain_id, genesis_hash, live, final_block) VALUES ($1, 31337, '0x', true, $2)",
    [schema, String(await node.head())],
  );
});
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
  await client.query("DELETE FROM nft.index_version");
});
afterAll(async () => {
  await client?.end();
  await node?.stop();
  await database?.drop();
});

function chain(env: Record<string, string> = {}): Chain {
  const [only] = loadChains({ RPC_URL_BASE: node.url, CHAIN_ID_BASE: "31337", ...env });
  if (!only) throw new Error("no chain");
  return only;
}

/** An endpoint that leaves out the last log of each list, and of receipts where these are not whole. */
async function short(hasWholeReceipts: boolean): Promise<string> {
  const endpoint = await FaultyEndpoint.start(node.url, {
    answer: ({ method }, answer) => {
      if (method === "eth_getLogs") answer.result = (answer.result as unknown[]).slice(0, -1);
      if (method === "eth_getBlockReceipts" && !hasWholeReceipts)
        answer.result = (answer.result as { logs: unknown[] }[]).map((one) => ({
          ...one,
          logs: one.logs.slice(0, -1),
        }));
    },
  });
  open.push(() => endpoint.stop());
  return endpoint.url;
}

async function gateway(...urls: string[]): Promise<RpcGateway> {
  const settings = { ...chain(), lagTimeoutMs: 0, verification: "logs" as const };
  const started = await startRpcGateway(settings, urls, log);
  open.push(started.close);
  return started;
}

const fill = (logs: readonly Log[]) => insertLogs(database.pool, schema, logs);

const sampled = async () =>
  (await client.query("SELECT blocks::int, missing FROM service.log_sample WHERE schema_name = $1", [schema])).rows[0];

/** A sample of an index whose Ponder has asked for so much. @returns what looks until endpoints have answered what it asks. */
function sample(nodes: RpcGateway, answered: number, percent = 1, env: Record<string, string> = {}) {
  let asking: Promise<unknown> = Promise.resolve();
  const gateway = {
    activity: () => ({ answered, running: 0, oldestMs: 0 }),
    logsOfBlock: (...question: Parameters<RpcGateway["logsOfBlock"]>) => {
      const answer = nodes.logsOfBlock(...question);
      asking = answer.catch(() => null);
      return answer;
    },
  };
  const sampler = new LogSampler(client, gateway, { chain: chain(env), schema }, percent, log);
  return async () => {
    await sampler.look();
    await asking;
  };
}

test.each(["another endpoint", "the same endpoint's receipts"])(
  "a log that the index lacks is found by %s, and named with what to run",
  async (by) => {
    const nodes = await gateway(
      await short(by !== "another endpoint"),
      ...(by === "another endpoint" ? [node.url] : []),
    );
    // Read by range from the first one, as a backfill does.
    const range = [{ fromBlock: "0x0", toBlock: `0x${(await node.head()).toString(16)}`, topics: [transferTopic] }];
    const indexed = (await nodes.request("eth_getLogs", range)) as Log[];
    expect(indexed).toHaveLength(7);
    await fill(indexed);
    const look = sample(nodes, 100_000);
    await wait("the log that is missing", async () => {
      await look();
      return Object.keys((await sampled())?.missing ?? {}).length > 0;
    });
    const lost = all.find(({ logIndex, blockNumber }) =>
      indexed.every((one) => one.logIndex !== logIndex || one.blockNumber !== blockNumber),
    );
    expect((await sampled()).missing).toEqual({ [Number(lost?.blockNumber)]: 1 });
    const [line] = lines.filter((one) => one.includes("the index lacks logs")).map((one) => JSON.parse(one));
    expect(line).toMatchObject({ chain: "base", block: Number(lost?.blockNumber), logs: [Number(lost?.logIndex)] });
    expect(line.msg).toContain("npm run -s mintyard -- reindex --chain base");
  },
);

test("an index that has all logs is not said to lack any, whatever one endpoint invents", async () => {
  await fill(all);
  const liar = await FaultyEndpoint.start(node.url, {
    answer: ({ method }, answer) => {
      if (method !== "eth_getBlockReceipts") return;
      for (const receipt of answer.result as { logs: Record<string, unknown>[] }[])
        receipt.logs = receipt.logs.flatMap((one) => [one, { ...one, logIndex: "0x2" }]).slice(0, 3);
    },
  });
  open.push(() => liar.stop());
  const nodes = await gateway(node.url, liar.url);
  const look = sample(nodes, 100_000);
  for (let looks = 0; looks < 80; looks += 1) await look();
  expect(await sampled()).toMatchObject({ missing: {} });
  expect((await sampled()).blocks).toBeGreaterThan(10);
});

test("the chain is followed while an endpoint thinks about the sample, and one that hangs does not end it", async () => {
  await fill(all);
  let hangs = true;
  const slow = await FaultyEndpoint.start(node.url, {
    ask: async ({ method }) => {
      while (hangs && method === "eth_getBlockReceipts") await pause(20);
    },
  });
  open.push(() => slow.stop());
  const nodes = await gateway(node.url, slow.url);
  const sampler = new LogSampler(
    client,
    { logsOfBlock: nodes.logsOfBlock, activity: () => ({ answered: 100_000, running: 0, oldestMs: 0 }) },
    { chain: chain(), schema },
    1,
    log,
  );
  for (let looks = 0; looks < 50; looks += 1) await sampler.look();
  expect(await sampled()).toBeUndefined();
  hangs = false;
  await wait("a block that was compared", async () => {
    await sampler.look();
    return (await sampled())?.blocks > 0;
  });
});

test("a hundredth of the requests is spent, and none where it is turned off or blocks are proved", async () => {
  await fill(all);
  const nodes = await gateway(node.url);
  const look = async (percent: number, env: Record<string, string> = {}) => {
    const lookOnce = sample(nodes, 1_000, percent, env);
    for (let looks = 0; looks < 40; looks += 1) await lookOnce();
    return (await sampled())?.blocks ?? 0;
  };
  expect(await look(0)).toBe(0);
  expect(await look(1, { VERIFY_BASE: "proofs" })).toBe(0);
  // Ten requests of a thousand, two for each.
  expect(await look(1)).toBe(5);
});
