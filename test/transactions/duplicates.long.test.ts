import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePorts } from "../../src/free-port.ts";
import { Rounds } from "../../src/rounds.ts";
import type { Services } from "../../src/services.ts";
import { runRelay } from "../../src/transactions/track/run-relay.ts";
import { bareEnvironment } from "../setup/bare-environment.ts";
import { send } from "../setup/send.ts";
import { slowness, wait } from "../setup/wait.ts";
import { RelayHarness } from "./harness.ts";

const requests = 1_000;
const apiKey = randomUUID();
const stop = new AbortController();
let h: RelayHarness;
let worker: Services;
let working: Promise<void>;
let urls: string[];
let apis: ChildProcess[];

beforeAll(async () => {
  h = await RelayHarness.start();
  worker = h.process();
  working = runRelay(worker, new Rounds(stop.signal));
  const ports = await freePorts(2);
  urls = ports.map((port) => `http://127.0.0.1:${port}/v0/contracts/collections`);
  apis = ports.map((port) =>
    fork(join(import.meta.dirname, "../../src/processes/api.ts"), {
      execArgv: [],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      env: {
        ...bareEnvironment,
        ...h.environment(),
        MINTYARD_API_KEY: apiKey,
        PORT: String(port),
        LOG_LEVEL: "silent",
      },
    }),
  );
  await Promise.all(apis.map((api) => new Promise((ready) => api.once("message", ready))));
});
afterAll(async () => {
  stop.abort();
  await working;
  for (const api of apis ?? []) {
    const ended = new Promise((done) => api.once("exit", done));
    api.kill("SIGTERM");
    await ended;
  }
  await h?.stop();
});

/** A client that comes again after what the table of errors calls retryable, as a busy machine may answer. */
async function insist(index: number, body: string, headers: Record<string, string>, refusals: string[]) {
  const ask = async () => {
    const request = { key: apiKey, headers, body, repeatable: true };
    const answer = await send(urls[index % urls.length] ?? "", request).then(
      ({ status, text, headers: said }) => ({ status, text, key: said.get("idempotency-key") }),
      (error: Error) => ({ status: 0, text: String(error.cause ?? error), key: null }),
    );
    if (answer.status !== 200) refusals.push(`${answer.status}`);
    if (![0, 200, 408, 503].includes(answer.status)) throw new Error(`${answer.status} ${answer.text}`);
    return answer;
  };
  return await wait("an acceptance", ask, { until: ({ status }) => status === 200 });
}

function request(name: string): string {
  return JSON.stringify({
    ...{ chain: "goerli", name, symbol: "DUP", max_supply: 100, tokens_per_mint: 5, mint_price: 0.01 },
    owner_address: `0x${"5d".repeat(20)}`,
    treasury_address: `0x${"5e".repeat(20)}`,
    public_mint_start_date: "2022-01-01T00:00:00",
  });
}

test.each([
  ["under one key of the client", true],
  ["without a key", false],
])(
  "1,000 equal requests at once to two processes, %s: one collection, and one answer byte for byte",
  {
    timeout: 400_000 * slowness,
  },
  async (name, ownKey) => {
    const before = (await h.announced()).length;
    const headers: Record<string, string> = ownKey ? { "idempotency-key": randomUUID() } : {};
    const refusals: string[] = [];
    const answers = await Promise.all(
      Array.from({ length: requests }, (_, index) => insist(index, request(`Duplicates ${name}`), headers, refusals)),
    );
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(new Set(answers.map(({ key }) => key)).size).toBe(1);
    expect(JSON.parse(answers[0]?.text ?? "{}")).toMatchObject({ response: "OK" });
    const { rows } = await worker.pool.query("SELECT id FROM service.intent WHERE payload ->> 'name' = $1", [
      `Duplicates ${name}`,
    ]);
    expect(rows).toHaveLength(1);
    await h.untilState(rows[0].id, ["finalized"]);
    expect((await h.announced()).length).toBe(before + 1);
    process.stdout.write(
      `${name}: ${requests} answers, ${refusals.length} told to come again (${[...new Set(refusals)]})\n`,
    );
  },
);
