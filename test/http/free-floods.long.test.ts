import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { generate } from "../../bench/reads/generate.ts";
import { createAccount } from "../../src/auth/keys.ts";
import { createDatabase, createPool } from "../../src/db/pool/pool.ts";
import type { Tier } from "../../src/db/tables/accounts.ts";
import { type EmbeddedPostgres, startPostgres } from "../../src/embedded/postgres.ts";
import { nodeFlags } from "../../src/embedded/supervisor.ts";
import { freePorts } from "../../src/free-port.ts";
import { send } from "../setup/send.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const pepper = "of the tests";
let postgres: EmbeddedPostgres;
let pool: pg.Pool;
let api: ChildProcess;
let url: string;
let contract: string;

beforeAll(async () => {
  const dir = temporaryFolder();
  const [postgresPort = 0, port = 0] = await freePorts(2);
  postgres = await startPostgres(dir, postgresPort);
  await generate(postgres.url, { tokens: 60_000, contracts: 2, accounts: 3_000 }, () => undefined);
  api = fork(join(import.meta.dirname, "../../src/processes/api.ts"), [], {
    execArgv: nodeFlags,
    env: {
      ...{ PATH: process.env["PATH"], KEY_PEPPER: pepper, DATABASE_URL: postgres.url, PORT: String(port) },
      ...{ MINTYARD_DATA_DIR: join(dir, "service"), LOG_LEVEL: "error", MAX_HEAVY_READS: "1" },
      // Little, so that it is used up on any machine.
      HEAVY_READ_MS_FREE: "300",
      // Much, so that a slow machine alone ends none.
      READ_TIMEOUT_MS: "60000",
      ...{ RPC_URL_GOERLI: "http://127.0.0.1:9", CHAIN_ID_GOERLI: "31337", HEAVY_READS_LOW_PRIORITY: "true" },
    },
  });
  await new Promise<void>((ready, failed) => {
    api.once("message", () => ready());
    api.once("exit", (code) => failed(new Error(`the API ended with code ${code}`)));
  });
  pool = createPool(postgres.url, "floods", 2);
  const { rows } = await pool.query("SELECT address FROM nft.contracts ORDER BY token_count DESC LIMIT 1");
  contract = `0x${rows[0].address.toString("hex")}`;
  url = `http://127.0.0.1:${port}`;
});
afterAll(async () => {
  api?.kill("SIGKILL");
  await pool?.end();
  await postgres?.stop();
});

async function account(tier: Tier): Promise<string> {
  const key = randomUUID();
  await createAccount(createDatabase(pool), pepper, { name: tier, tier, key });
  return key;
}

let number = 0;
/** Finds nothing, and so looks at every trait of the contract. */
async function filter(key: string, conditions: number): Promise<string> {
  number += 1;
  const traits = { or: Array.from({ length: conditions }, (_, at) => ({ name: `none ${number} ${at}` })) };
  const query = `query ($f: TraitFilter) { contract(chain: "goerli", address: "${contract}") { nfts(first: 50, traits: $f) { nodes { tokenId } } } }`;
  const { status, text } = await send(`${url}/graphql`, { key, body: { query, variables: { f: traits } } });
  if (text.includes("of the database's time")) return "no time";
  return /"code":"(\w+)"/.exec(text)?.[1] ?? String(status);
}

test("three free accounts that send dear reads without end keep none of a paying account's from its answer", async () => {
  const paying = await account("growth");
  const floods = await Promise.all([account("free"), account("free"), account("free")]);
  const outcomes: Record<string, number> = {};
  const timesOf = { quiet: [] as number[], beside: [] as number[] };
  const measure = async (kind: keyof typeof timesOf) => {
    for (let round = 0; round < 4; round += 1) {
      const begun = performance.now();
      expect(await filter(paying, 2)).toBe("200");
      timesOf[kind].push(performance.now() - begun);
    }
  };
  await measure("quiet");
  timesOf.quiet = [];
  // In turns: what else the machine does is in both.
  for (let pair = 0; pair < 4; pair += 1) {
    await measure("quiet");
    let flooding = true;
    const flood = floods.flatMap((key) =>
      Array.from({ length: 4 }, async () => {
        while (flooding) {
          const outcome = await filter(key, 8);
          outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
        }
      }),
    );
    await measure("beside").finally(() => {
      flooding = false;
    });
    await Promise.all(flood);
  }
  const median = (times: number[]) => times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0;
  const [quiet, beside] = [median(timesOf.quiet), median(timesOf.beside)];
  console.log(
    `a trait filter of a paying account: ${quiet.toFixed(0)} ms, beside the floods ${beside.toFixed(0)} ms`,
    outcomes,
  );
  // Figures to look at: how much longer it takes is also a matter of what else the machine does. Each one was answered.
  // They are told what they have used up, and by then nothing is done for them.
  expect(outcomes["no time"]).toBeGreaterThan(0);
});
