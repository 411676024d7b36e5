import { Agent, request } from "node:http";
import type { AddressInfo } from "node:net";
import { type Address, type Hex, numberToHex } from "viem";
import { createSiweMessage } from "viem/siwe";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readingsOfDay } from "../../src/accounts/admit-address.ts";
import { callsOfSale } from "../../src/collections/read-sale.ts";
import { createHttpServer } from "../../src/server/http-server.ts";
import type { Services } from "../../src/services.ts";
import { LaunchFixture } from "../collections/launch-fixture.ts";
import { randomAddress } from "../transactions/harness.ts";
import { pricesEur } from "./prices.ts";

// Attacks by somebody without a key, each beside somebody honest; the figures go to the log.
let fixture: LaunchFixture;
let services: Services;
let server: ReturnType<typeof createHttpServer>;
let port: number;
const collections: Address[] = [];

beforeAll(async () => {
  fixture = await LaunchFixture.start();
  // The local node traces each step, and works on one call at a time: for seconds on a machine that does other things.
  services = fixture.h.process({
    ...{ TRUSTED_PROXIES: "127.0.0.0/8", READ_TIMEOUT_MS: "60000", LOCAL_GOERLI: "false", COIN_EUR_GOERLI: "0.5" },
  });
  server = createHttpServer(services);
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  port = (server.address() as AddressInfo).port;
  const body = await fixture.deployed({
    presale_whitelisted_addresses: [randomAddress()],
    presale_mint_start: "2022-07-01",
  });
  const own = String(body["predicted_address"]).toLowerCase() as Address;
  collections.push(own);
  // As many collections of this installation as one account of a paid plan has.
  const bytecode = await fixture.h.chain.getCode({ address: own });
  for (let at = 1; at <= 40; at += 1) {
    const address = numberToHex(0xabc000 + at, { size: 20 });
    await fixture.h.chain.setCode({ address, bytecode: bytecode ?? "0x" });
    await services.pool.query(
      `INSERT INTO service.self_deployment (id, tenant_id, chain_id, req_hash, payload, owner, init_code_hash, init_code_bytes, scanned_to, address, tx_hash, block_number, block_hash)
       SELECT gen_random_uuid(), tenant_id, chain_id, sha256($2::bytea), payload, $2, sha256($2), 1, 0, $2, sha256($2), 1, sha256($2)
       FROM service.intent WHERE predicted_addr = $1`,
      [Buffer.from(own.slice(2), "hex"), Buffer.from(address.slice(2), "hex")],
    );
    collections.push(address);
  }
});
afterAll(async () => {
  server?.closeAllConnections();
  await new Promise((done) => server?.close(done));
  await fixture?.stop();
});

interface Asked {
  method?: string;
  path: string;
  address: string;
  body?: unknown;
  agent?: Agent;
  headers?: Record<string, string>;
}

function ask({ method = "GET", path, address, body, agent, headers }: Asked) {
  const startedAt = performance.now();
  return new Promise<{ status: number; text: string; cookies: string[]; ms: number }>((done) => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const sent = { "X-Forwarded-For": address, ...(text ? { "Content-Type": "application/json" } : {}), ...headers };
    const outgoing = request({ port, host: "127.0.0.1", method, path, headers: sent, agent }, (answer) => {
      const parts: Buffer[] = [];
      answer.on("data", (part: Buffer) => parts.push(part));
      answer.on("end", () =>
        done({
          status: answer.statusCode ?? 0,
          text: Buffer.concat(parts).toString("utf8"),
          cookies: answer.headers["set-cookie"] ?? [],
          ms: performance.now() - startedAt,
        }),
      );
    });
    outgoing.once("error", () => done({ status: 0, text: "", cookies: [], ms: performance.now() - startedAt }));
    outgoing.end(text);
  });
}

/** Runs attackers without a pause on so many connections, and `beside` in the meantime. */
async function attacked<T>(
  connections: number,
  one: (agent: Agent, at: number) => Promise<unknown>,
  beside: () => Promise<T>,
) {
  let stopped = false;
  const attackers = Array.from({ length: connections }, async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let at = 0; !stopped; at += 1) await one(agent, at);
    agent.destroy();
  });
  const result = await beside();
  stopped = true;
  await Promise.all(attackers);
  return result;
}

const eligibility = (address: string) =>
  ask({
    method: "POST",
    path: "/graphql",
    address,
    body: {
      query: `{ eligibility(chain: "goerli", collection: "${collections[0]}", wallet: "${randomAddress()}") { eligible } }`,
    },
  });

test("sales of forty own collections, asked without a pause, cost a node little, and honest questions are answered", async () => {
  // Each reading has its own time.
  const readings = new Set<string>();
  let next = 0;
  const startedAt = performance.now();
  const answers = await attacked(
    8,
    async (agent) => {
      const path = `/mint/goerli/${collections[next++ % collections.length]}/sale`;
      const { status, text } = await ask({ path, address: "203.0.113.1", agent });
      if (status === 200) readings.add(`${path} ${JSON.parse(text).read_ms}`);
    },
    async () => {
      const honest: { status: number; ms: number; text: string }[] = [];
      while (performance.now() - startedAt < 10_000)
        honest.push(await eligibility(`198.51.100.${1 + (honest.length % 200)}`));
      return honest;
    },
  );
  const seconds = (performance.now() - startedAt) / 1_000;
  const failed = answers.filter(({ status, text }) => status !== 200 || text.includes("errors"));
  const read = readings.size;
  console.log(
    `sales: ${(read / seconds).toFixed(1)} readings a second; honest questions: ${answers.length}, failed ${failed.length}, slowest ${Math.max(...answers.map(({ ms }) => ms)).toFixed(0)} ms`,
  );
  expect(failed).toEqual([]);
  // What one address has at once, and five a second.
  expect(read).toBeLessThan(60 + 5 * seconds + 5);
  // And in a day: by its own number, half of what an address may cost.
  const inADay = readingsOfDay.burst + readingsOfDay.perSecond * 86_400;
  expect(inADay * callsOfSale.together * pricesEur.rpcCall).toBeLessThanOrEqual(0.025);
});

/** Always says that the signature is right; or never ends. */
const agreeing: Hex = "0x631626ba7e60e01b60005260206000f3";
const looping: Hex = "0x5b600056";

async function signIn(wallet: Address, client: string) {
  const nonce = await ask({ method: "POST", path: "/auth/nonce", address: client, body: {} });
  const { nonce: text, statement } = JSON.parse(nonce.text);
  const message = createSiweMessage({
    ...{ address: wallet, chainId: 31337, domain: "127.0.0.1:3000", uri: "http://127.0.0.1:3000/", version: "1" },
    ...{ nonce: text, statement, issuedAt: new Date() },
  });
  const headers = { Cookie: nonce.cookies.map((cookie) => cookie.split(";")[0]).join("; ") };
  const body = { message, signature: `0x${"12".repeat(65)}` };
  return await ask({ method: "POST", path: "/auth/sign-in", address: client, body, headers });
}

test("a contract wallet signs in, and one that never ends takes what a verification may and no more", async () => {
  const [good, endless] = [randomAddress(), randomAddress()];
  await fixture.h.chain.setCode({ address: good, bytecode: agreeing });
  await fixture.h.chain.setCode({ address: endless, bytecode: looping });
  const welcome = await signIn(good, "203.0.113.9");
  expect(welcome.status, welcome.text).toBe(200);
  const refused = await signIn(endless, "203.0.113.10");
  expect(refused.status).toBe(403);
  console.log(`sign-in: ${welcome.ms.toFixed(0)} ms by a contract, ${refused.ms.toFixed(0)} ms by one that never ends`);
  // Sign-ins of one address are questions of the readers: others have their turns.
  const answers = await attacked(
    8,
    () => signIn(endless, "203.0.113.11"),
    async () => {
      const honest: { status: number; ms: number; text: string }[] = [];
      for (let at = 0; at < 10; at += 1) honest.push(await eligibility(`198.51.101.${at + 1}`));
      return honest;
    },
  );
  console.log(`beside eight of them: ${answers.map(({ ms }) => ms.toFixed(0)).join(", ")} ms`);
  expect(answers.filter(({ status, text }) => status !== 200 || text.includes("errors"))).toEqual([]);
});
