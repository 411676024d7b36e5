import { request } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { questionsOfDay, readingsOfDay } from "../../src/accounts/admit-address.ts";
import { OpenWork, workOfDay } from "../../src/accounts/open-work.ts";
import { openSession } from "../../src/accounts/sessions.ts";
import { workOf } from "../../src/admission/pay-for-work.ts";
import { createHttpServer } from "../../src/server/http-server.ts";
import type { Services } from "../../src/services.ts";
import { LaunchFixture } from "../collections/launch-fixture.ts";
import { randomAddress } from "../transactions/harness.ts";
import { buildPages } from "../web/web-fixture.ts";
import { pricesEur } from "./prices.ts";

/** A launch as one router has it: so many visitors behind it, each with a mint page for so long, and what they do there. */
const visitors = 200;
const hours = 2;
const questionsOfVisitor = 3;
/** `web/mint/use-sale.ts` on a chain that is not local. */
const pollSeconds = 2;

let fixture: LaunchFixture;
let services: Services;
let server: ReturnType<typeof createHttpServer>;
let page: string;
const listed = Array.from({ length: 20 }, () => randomAddress());

beforeAll(async () => {
  await buildPages();
  fixture = await LaunchFixture.start();
  services = fixture.h.process({
    ...{ TRUSTED_PROXIES: "127.0.0.0/8", LOCAL_GOERLI: "false", COIN_EUR_GOERLI: "0.5", READ_TIMEOUT_MS: "60000" },
  });
  server = createHttpServer(services);
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const body = await fixture.deployed({ presale_whitelisted_addresses: listed, presale_mint_start: "2022-07-01" });
  page = `/mint/goerli/${String(body["predicted_address"]).toLowerCase()}`;
});
afterAll(async () => {
  server?.closeAllConnections();
  await new Promise((done) => server?.close(done));
  await fixture?.stop();
});

async function ask(
  path: string,
  address: string,
  body?: unknown,
  more: Record<string, string> = {},
): Promise<{ status: number; text: string }> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers = { "X-Forwarded-For": address, ...(text ? { "Content-Type": "application/json" } : {}), ...more };
  const { port } = server.address() as AddressInfo;
  return await new Promise((done, failed) => {
    const outgoing = request(
      { port, host: "127.0.0.1", method: text ? "POST" : "GET", path, headers, agent: false },
      (answer) => {
        const parts: Buffer[] = [];
        answer.on("data", (part: Buffer) => parts.push(part));
        answer.on("end", () => done({ status: answer.statusCode ?? 0, text: Buffer.concat(parts).toString("utf8") }));
      },
    );
    outgoing.once("error", failed);
    outgoing.end(text);
  });
}

const question = (wallet: string) => ({
  query: `query ($chain: ChainName!, $collection: Address!, $wallet: Address!) {
    eligibility(chain: $chain, collection: $collection, wallet: $wallet) { eligible reason proof } }`,
  variables: { chain: "goerli", collection: page.split("/").at(-1), wallet },
});

/** The page with its files, the sale, and whether a wallet may mint. */
async function arrive(address: string, wallet: string): Promise<number[]> {
  const html = await ask(page, address);
  const files = [...html.text.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, file]) => file ?? "");
  expect(files.length).toBeGreaterThan(1);
  const answers = [html];
  for (const file of files) answers.push(await ask(file, address));
  answers.push(await ask(`${page}/sale`, address), await ask("/graphql", address, question(wallet)));
  expect(answers.at(-1)?.text).not.toContain("errors");
  return answers.map(({ status }) => status);
}

const router = "198.51.100.20";
const paidBy = (address: string) => workOf(services).paid(`address ${address}`);

test("visitors behind one router come, look and ask on a launch day, and none of them is refused", async () => {
  const before = paidBy(router);
  const first = Date.now();
  for (const wallet of listed) expect(new Set(await arrive(router, wallet))).toEqual(new Set([200]));
  const arrivalMs = (paidBy(router) - before) / listed.length;
  const polledBefore = paidBy(router);
  for (let at = 0; at < 50; at += 1) expect((await ask(`${page}/sale`, router)).status).toBe(200);
  const pollMs = (paidBy(router) - polledBefore) / 50;
  console.info(`an arrival pays ${arrivalMs.toFixed(1)} ms, a look at the sale ${pollMs.toFixed(2)} ms`);

  // The hours that follow, second by second, by what counts them: all come within ten minutes, and none goes.
  vi.useFakeTimers({ toFake: ["performance"] });
  try {
    const work = new OpenWork(true);
    let taken = 0;
    let [looks, arrived] = [0, 0];
    for (let second = 0; second < hours * 3_600; second += 1) {
      vi.advanceTimersByTime(1_000);
      for (; arrived < Math.min(visitors, Math.ceil(((second + 1) * visitors) / 600)); arrived += 1) {
        expect(work.takeNow("address router", arrivalMs)).toBe(true);
        taken += arrivalMs;
      }
      for (looks += arrived / pollSeconds; looks >= 1; looks -= 1) {
        expect(work.takeNow("address router", pollMs)).toBe(true);
        taken += pollMs;
      }
    }
    console.info(
      `${visitors} visitors for ${hours} hours pay ${(taken / 1_000).toFixed(0)} s of ${workOfDay.most / 1_000} at once`,
    );
  } finally {
    vi.useRealTimers();
  }
  // What they ask, and a reading a minute, even if it came in one moment. Readings for events of the collection are nobody's.
  const { limiter } = services.auth;
  const all = visitors * questionsOfVisitor - listed.length;
  expect((await limiter.take(`open-day:${router}`, questionsOfDay, all)).allowed).toBe(true);
  const readings = hours * 60 + 10 - Math.ceil((Date.now() - first) / 60_000);
  expect((await limiter.take(`page-day:${router}`, readingsOfDay, readings)).allowed).toBe(true);
  expect((await ask(`${page}/sale`, router)).status).toBe(200);
});

test("who asks for what nobody else wants is refused when the day is used up, and still sees what others do", async () => {
  const attacker = "198.51.100.21";
  const { limiter } = services.auth;
  expect((await ask(`${page}/sale`, attacker)).status).toBe(200);
  await limiter.take(`page-day:${attacker}`, readingsOfDay, readingsOfDay.burst - 20);
  const calls = fixture.h.proxy.seen.length;
  const statuses: number[] = [];
  for (let at = 0; at < 40; at += 1)
    statuses.push((await ask(`/mint/goerli/${randomAddress()}/sale`, attacker)).status);
  expect(statuses.filter((status) => status === 404).length).toBeLessThanOrEqual(22);
  expect(statuses.at(-1)).toBe(429);
  expect(fixture.h.proxy.seen.length - calls).toBeLessThanOrEqual(22);
  for (let at = 0; at < 5; at += 1) expect((await ask(`${page}/sale`, attacker)).status).toBe(200);
  // In the console an account pays, by its session or its key, and its address nothing.
  const { accountId } = await fixture.h.caller("free", services);
  const wallet = { address: randomAddress(), chainId: 0 };
  const { secret } = await openSession(services, accountId, wallet, "req_test");
  const another = () => `/mint/goerli/${randomAddress()}/sale`;
  for (const headers of [{ Cookie: `mintyard_session=${secret}` }, { Authorization: secret }])
    expect((await ask(another(), attacker, undefined, headers)).status).toBe(404);
  await limiter.take(`page-day:account:${accountId}`, readingsOfDay, readingsOfDay.burst - 3);
  const used: number[] = [];
  for (let at = 0; at < 3; at += 1)
    used.push((await ask(another(), "198.51.100.22", undefined, { Cookie: `mintyard_session=${secret}` })).status);
  expect(used).toContain(429);
  expect((await ask(another(), "198.51.100.22")).status).toBe(404);
  // All that an address may make nodes do in a day.
  const inADay = ({ burst, perSecond }: typeof readingsOfDay) => burst + perSecond * 86_400;
  const eur = (inADay(readingsOfDay) + 2 * inADay(questionsOfDay)) * pricesEur.rpcCall;
  console.info(`an address costs ${eur.toFixed(4)} EUR of calls a day at most`);
  expect(eur).toBeLessThanOrEqual(0.04);
});
