import { type ChildProcess, fork } from "node:child_process";
import { Agent, request } from "node:http";
import { join } from "node:path";
import pg from "pg";
import { type Address, getAddress } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Attack, AttackRequest } from "../../bench/attacks/attackers.ts";
import { attacksOn, fastPathReads, measure, type Phase } from "../../bench/attacks/run-attacks.ts";
import { generate } from "../../bench/reads/generate.ts";
import { nodeFlags } from "../../src/embedded/supervisor.ts";
import { freePorts } from "../../src/free-port.ts";
import { HttpApi, newKey } from "../collections/http-api.ts";
import { LaunchFixture } from "../collections/launch-fixture.ts";
import { createTestDatabase } from "../setup/database.ts";
import { RelayHarness, randomAddress } from "../transactions/harness.ts";

// Clients without a key and three free accounts attack one API at once, each kind by its own connections. What others get meanwhile
// goes to the log; on any machine all of it is answered.
const seconds = 8;
let fixture: LaunchFixture;
let client: pg.Client;
let api: ChildProcess;
const children: ChildProcess[] = [];
let port: number;
/** Of a plan with the usual limits, and of one whose reads are more than those. */
let paying: string;
let reader: string;
let free: string[];
let sale: Address;
/** The contract with nearly all tokens. */
let crowd: string;
let directory: string;

beforeAll(async () => {
  const database = await createTestDatabase({ migrated: false });
  await generate(database.url, { tokens: 60_000, contracts: 2, accounts: 5_000 }, () => undefined);
  const h = await RelayHarness.start(async () => database);
  fixture = LaunchFixture.of(h, await HttpApi.start(h.process()));
  const { services } = fixture.api;
  [paying, reader] = await Promise.all([newKey(services, "growth"), newKey(services, "enterprise")]);
  free = await Promise.all([1, 2, 3].map(() => newKey(services, "free")));
  const listed = { presale_whitelisted_addresses: [randomAddress()], presale_mint_start: "2022-07-01" };
  sale = String((await fixture.deployed(listed))["predicted_address"]).toLowerCase() as Address;
  [port = 0] = await freePorts(1);
  api = fork(join(import.meta.dirname, "../../src/processes/api.ts"), [], {
    execArgv: nodeFlags,
    env: {
      ...{ PATH: process.env["PATH"], ...h.environment(), PORT: String(port), LOG_LEVEL: "error" },
      // As in `npm start`.
      ...{ MAX_HEAVY_READS: "1", HEAVY_READS_LOW_PRIORITY: "true", TRUSTED_PROXIES: "127.0.0.0/8" },
      // Much, so that a slow machine alone ends no read.
      READ_TIMEOUT_MS: "60000",
    },
  });
  children.push(api);
  await new Promise<void>((ready, failed) => {
    api.once("message", () => ready());
    api.once("exit", (code) => failed(new Error(`the API ended with code ${code}`)));
  });
  client = new pg.Client({ connectionString: database.url });
  client.on("error", () => undefined);
  await client.connect();
  const { rows } = await client.query("SELECT address FROM nft.contracts ORDER BY token_count DESC LIMIT 1");
  crowd = `0x${rows[0].address.toString("hex")}`;
  const { status, text } = await ask(directoryOf(10_000, reader));
  expect(status, text).toBe(200);
  directory = String(/ipfs:\/\/(\w+)/.exec(text)?.[1]);
});
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  await client?.end();
  await fixture?.stop();
});

function ask({ method, path, headers, body }: AttackRequest, agent?: Agent) {
  const begun = performance.now();
  return new Promise<{ status: number; text: string; ms: number }>((done) => {
    const outgoing = request({ port, host: "127.0.0.1", method, path, headers, agent }, (answer) => {
      let text = "";
      answer.setEncoding("latin1").on("data", (chunk: string) => {
        text += chunk;
      });
      answer.once("end", () => done({ status: answer.statusCode ?? 0, text, ms: performance.now() - begun }));
    });
    outgoing.once("error", (error) => done({ status: 0, text: error.message, ms: performance.now() - begun }));
    outgoing.end(body);
  });
}

/** POST /v0/metadata/directory with so many small documents. */
function directoryOf(files: number, key: string): AttackRequest {
  const parts = Array.from(
    { length: files },
    (_, at) =>
      `--x\r\nContent-Disposition: form-data; name="metadata_files"; filename="${at}.json"\r\nContent-Type: application/json\r\n\r\n{"name":"${at}"}\r\n`,
  );
  const headers = { Authorization: key, "Content-Type": "multipart/form-data; boundary=x" };
  return { method: "POST", path: "/v0/metadata/directory", headers, body: `${parts.join("")}--x--\r\n` };
}

const by = (address: string) => ({ "X-Forwarded-For": address });

const graphql = (query: string, headers: Record<string, string>): AttackRequest => ({
  ...{ method: "POST", path: "/graphql", body: JSON.stringify({ query }) },
  headers: { "Content-Type": "application/json", ...headers },
});

/** By nobody: one address each. */
function attacksOfNobody(): Attack[] {
  const one = (name: string, connections: number, at: number, requests: AttackRequest[]): Attack => ({
    ...{ name, connections },
    requests: requests.map((each) => ({ ...each, headers: { ...each.headers, ...by(`203.0.113.${at}`) } })),
  });
  const get = (path: string): AttackRequest => ({ method: "GET", path, headers: {} });
  const named = (wanted: string, contract = crowd) =>
    attacksOn(contract, "").find(({ name }) => name === wanted)?.requests ?? [];
  return [
    one("CARs", 2, 1, [get(`/ipfs/${directory}?format=car`)]),
    one("listings", 1, 2, [get(`/ipfs/${directory}/`)]),
    one("sales", 2, 3, [get(`/mint/goerli/${sale}/sale`)]),
    one("documents", 2, 4, named("documents")),
    one("eligibility", 1, 5, named("eligibility", sale)),
    one("wrong keys", 1, 6, [{ ...get("/v0/me/settings"), headers: { Authorization: "wrong-#" } }]),
    one("pages", 1, 7, [get(`/mint/goerli/${sale}`), get("/docs"), get("/console/")]),
  ];
}

/** By three free accounts. */
function attacksOfAccounts(): Attack[] {
  const [first = "", second = "", third = ""] = free;
  const reads = (key: string) => attacksOn(crowd, key).filter(({ name }) => name === "traits" || name === "reports");
  const wallets = Array.from({ length: 20_000 }, () => `"${randomAddress()}"`).join();
  const owner = getAddress(randomAddress());
  const dryRun: AttackRequest = {
    ...{ method: "POST", path: "/v0/contracts/collections?dry_run=true" },
    headers: { "Content-Type": "application/json", Authorization: third },
    body: `{"chain":"goerli","name":"Dry","symbol":"DRY","max_supply":100,"tokens_per_mint":1,"mint_price":0.01,"owner_address":"${owner}","treasury_address":"${owner}","public_mint_start":"2030-07-12T11:30:48+00:00","presale_mint_start":"2030-07-11T11:30:48+00:00","presale_whitelisted_addresses":[${wallets}]}`,
  };
  return [
    ...[first, second, third].flatMap((key) => reads(key).map((each) => ({ ...each, connections: 1 }))),
    { name: "directories", connections: 2, requests: [directoryOf(2_000, second)] },
    { name: "dry runs", connections: 2, requests: [dryRun] },
  ];
}

/** Asks one after the other, for as long as a phase is. */
async function during(phase: Promise<Phase>, next: (at: number) => AttackRequest) {
  let over = false;
  const end = () => {
    over = true;
  };
  phase.then(end, end);
  const agent = new Agent({ keepAlive: true });
  const answers: Awaited<ReturnType<typeof ask>>[] = [];
  while (!over) {
    answers.push(await ask(next(answers.length), agent));
    await new Promise((done) => setTimeout(done, 200));
  }
  agent.destroy();
  const times = answers.map(({ ms }) => ms).sort((a, b) => a - b);
  const failed = answers.filter(({ status, text }) => status !== 200 || text.includes('"errors"'));
  return { count: answers.length, failed, median: times[times.length >> 1] ?? 0, most: times.at(-1) ?? 0 };
}

test("beside all attacks at once, reads, pages, questions and a paying account's dear reads are answered", async () => {
  const reads = await fastPathReads(client, crowd, reader);
  let number = 0;
  const honest = (at: number) => by(`198.51.100.${1 + (at % 200)}`);
  const probe = async (name: string, attacks: Attack[]) => {
    const phase = measure({ name, attacks, port, reads, client, children, options: { seconds } });
    const beside = await Promise.all([
      during(phase, () => {
        number += 1;
        const traits = `{ or: [{ name: "none ${number}" }, { name: "nothing ${number}" }] }`;
        const query = `{ contract(chain: "goerli", address: "${crowd}") { nfts(first: 50, traits: ${traits}) { nodes { tokenId } } } }`;
        return graphql(query, { Authorization: paying });
      }),
      during(phase, (at) => ({ method: "GET", path: `/mint/goerli/${sale}`, headers: honest(at) })),
      during(phase, (at) => ({ method: "GET", path: `/mint/goerli/${sale}/sale`, headers: honest(at + 50) })),
      during(phase, (at) => {
        const query = `{ eligibility(chain: "goerli", collection: "${sale}", wallet: "${randomAddress()}") { eligible } }`;
        return graphql(query, honest(at + 100));
      }),
    ]);
    return {
      phase: await phase,
      beside: new Map(["traits", "mint page", "sale", "eligibility"].map((kind, at) => [kind, beside[at]])),
    };
  };
  await probe("warm", []);
  const quiet = await probe("quiet", []);
  const attacks = [...attacksOfNobody(), ...attacksOfAccounts()];
  expect(attacks.reduce((sum, { connections }) => sum + connections, 0)).toBe(20);
  const attacked = await probe("all together", attacks);
  const ms = (value = 0) => value.toFixed(1);
  for (const { phase, beside } of [quiet, attacked]) {
    console.log(
      `${phase.name}: reads p50 ${ms(phase.honest.p50)} p99 ${ms(phase.honest.p99)} most ${ms(phase.honest.most)} ms, ${phase.honest.failed} of ${phase.honest.count} failed; /livez p99 ${ms(phase.livez.p99)} most ${ms(phase.livez.most)} ms`,
      ...[...beside].map(
        ([kind, one]) =>
          `${kind}: ${one?.count}, failed ${one?.failed.length}, median ${ms(one?.median)} most ${ms(one?.most)} ms`,
      ),
    );
  }
  console.log(JSON.stringify(attacked.phase.outcomes));
  for (const [kind, one] of [...quiet.beside, ...attacked.beside]) {
    expect(one?.count, kind).toBeGreaterThan(0);
    expect(one?.failed, kind).toEqual([]);
  }
  for (const { count, failed } of [attacked.phase.livez, attacked.phase.honest]) {
    expect(count).toBeGreaterThan(0);
    expect(failed).toBeLessThan(Math.max(1, count / 50));
  }
});
