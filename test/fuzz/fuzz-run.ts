import { Agent, request } from "node:http";
import { expect } from "vitest";
import { createOpenApi } from "../../src/rest/openapi.ts";
import { SeededGenerator } from "../setup/seeded-generator.ts";
import { patient } from "../setup/wait.ts";
import { type FuzzRequest, graphqlRequest, rawExchange, restRequest } from "./generate.ts";
import { type ServerUnderFuzz, startServer } from "./server-process.ts";

/** FUZZ_SEED repeats a run. */
const seed = Number(process.env["FUZZ_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const parallel = 16;
/** Distant from each other, so that runs with neighbouring seeds do not send the same requests. */
const seedOf = (index: number) => (seed ^ Math.imul(index + 1, 0x9e3779b1)) >>> 0;

interface Target {
  port: number;
  agent: Agent;
}

/** Through `node:http`, which sends what `fetch` would mend. */
function exchange(
  { port, agent }: Target,
  { method, path, headers, body }: FuzzRequest,
): Promise<{ status: number; text: string }> {
  return new Promise((done, failed) => {
    const outgoing = request({ port, host: "127.0.0.1", method, path, headers, agent }, (incoming) => {
      let text = "";
      incoming.setEncoding("utf8");
      incoming.on("data", (chunk) => {
        text += chunk;
      });
      incoming.on("end", () => done({ status: incoming.statusCode ?? 0, text }));
      incoming.on("error", failed);
    });
    outgoing.on("error", failed);
    outgoing.end(body);
  });
}

/** 501 is an operation that is not built; 503 a chain whose node this test does not run. */
const planned = new Set([501, 503]);
/** Words of the inside, which no answer may hold. */
const inside =
  /node_modules|at [\w.<>]+ \(|\.ts:\d|syntax error at|relation "|duplicate key|ECONNREFUSED|127\.0\.0\.1:9\b/;

/**
 * Sends requests that nobody would send on purpose to the API in a process of its own. No answer is an unplanned 5xx or
 * holds text from inside, no connection is broken without a reason, the process lives and stays below 512 MB.
 *
 * @param rates "off" without limits on rates. "used up": the account has sent so much that fails before it is counted that
 *   its requests are begun at the pace of `FailureThrottle`, 25 a second.
 */
export async function expectSoundAnswers(total: number, rates: "on" | "off" | "used up" = "on"): Promise<void> {
  const server = await startServer(rates === "off" ? { RATE_LIMITS: "off" } : {});
  const agent = new Agent({ keepAlive: true, maxSockets: parallel });
  const letGo = rates === "used up" ? await useUpPace(server) : async () => undefined;
  try {
    await send(server, { port: server.port, agent }, total);
  } finally {
    await letGo();
    agent.destroy();
    await server.stop();
  }
}

/**
 * Asks what costs nothing, more at once than may wait, until some of it is refused; and goes on with it, so that there is
 * always somebody who waits.
 *
 * @returns ends it.
 */
async function useUpPace({ port, key }: ServerUnderFuzz): Promise<() => Promise<void>> {
  const agent = new Agent({ keepAlive: true });
  const headers = { Authorization: key, "Content-Type": "application/json" };
  const ask = () =>
    exchange({ port, agent }, { method: "POST", path: "/graphql", headers, body: '{"query":"{ __typename }"}' });
  let stopped = false;
  const goOn = async () => {
    while (!stopped) await ask();
  };
  const volley = async () => (await Promise.all(Array.from({ length: 150 }, ask))).some(({ status }) => status === 429);
  await expect.poll(volley, patient).toBe(true);
  const going = Array.from({ length: 4 }, goOn);
  return async () => {
    stopped = true;
    await Promise.allSettled(going);
    agent.destroy();
  };
}

async function send(server: ServerUnderFuzz, target: Target, total: number): Promise<void> {
  const openApi = JSON.parse(JSON.stringify(createOpenApi()));
  const statuses = new Map<string, number>();
  const bad: string[] = [];
  const { key } = server;
  const megabytes = () => Math.round(server.peakBytes() / 1_048_576);
  let [next, cut] = [0, 0];
  const work = async (): Promise<void> => {
    for (let index = next++; index < total; index = next++) {
      const random = new SeededGenerator(seedOf(index)).next;
      if (index > 0 && index % 10_000 === 0)
        console.info(`seed ${seed}: ${index} sent, ${bad.length} bad, peak ${megabytes()} MB`);
      const kind = index % 20 === 0 ? "raw" : index % 3 === 0 ? "graphql" : "rest";
      if (kind === "raw") {
        const line = await rawExchange(random, server.port);
        if (/ 5\d\d /.test(line) && !/ 50[13] /.test(line)) bad.push(`${index} raw ${line}`);
        statuses.set("raw", (statuses.get("raw") ?? 0) + 1);
        continue;
      }
      const sent = kind === "rest" ? restRequest(random, openApi, key) : graphqlRequest(random, key);
      let answer: { status: number; text: string };
      try {
        answer = await exchange(target, sent);
      } catch (error) {
        // Node's own client refuses to send some of them, and the server closes on a body it does not want.
        cut += 1;
        const { code } = error as { code?: string };
        if (
          !["ERR_UNESCAPED_CHARACTERS", "ERR_INVALID_CHAR", "ECONNRESET", "EPIPE", "HPE_INVALID_CONSTANT"].includes(
            code ?? "",
          )
        )
          bad.push(`${index} ${code} ${String(error)}`);
        continue;
      }
      const { status, text } = answer;
      statuses.set(`${kind} ${status}`, (statuses.get(`${kind} ${status}`) ?? 0) + 1);
      const unplanned = status >= 500 && !planned.has(status);
      if (unplanned || text.includes("internal_error") || (inside.test(text) && !inside.test(JSON.stringify(sent))))
        bad.push(
          `${index} ${sent.method} ${sent.path.slice(0, 200)} ${sent.body?.slice(0, 300)} -> ${status} ${text.slice(0, 400)}`,
        );
    }
  };
  await Promise.all(Array.from({ length: parallel }, work));
  const shown = [...statuses].sort().map(([status, count]) => `${status}: ${count}`);
  console.info(`seed ${seed}; ${shown.join(", ")}; ${cut} cut; the server's peak ${megabytes()} MB`);
  expect(bad.slice(0, 10), `seed ${seed}`).toEqual([]);
  // A rejection that nobody handles, or an exception that nobody catches, ends Node.
  expect(server.api.running, server.api.output.slice(-2_000)).toBe(true);
  expect(server.api.output).not.toMatch(/unhandled|uncaught/i);
  if (!Number.isNaN(megabytes())) expect(megabytes()).toBeLessThan(512);
  const settings = await exchange(target, { method: "GET", path: "/v0/me/settings", headers: { Authorization: key } });
  expect(settings.status).toBe(200);
}
