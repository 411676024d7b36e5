import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createDatabase } from "../../src/db/pool/pool.ts";
import { listMints, readMintedFacts } from "../../src/products/lists.ts";
import { ProductScenario, randomAddress, uri } from "./scenario.ts";

const mintsBefore = 20_000;

let s: ProductScenario;
beforeAll(async () => {
  s = await ProductScenario.start();
});
afterAll(async () => {
  await s?.stop();
});

interface Plan {
  "Actual Rows": number;
  "Actual Loops": number;
  "Relation Name"?: string;
  "Rows Removed by Filter"?: number;
  Plans?: Plan[];
}

/** Rows of a table that a plan looked at. */
function rowsOf(plan: Plan, table: string): number {
  const own =
    plan["Relation Name"] === table
      ? (plan["Actual Rows"] + (plan["Rows Removed by Filter"] ?? 0)) * plan["Actual Loops"]
      : 0;
  return own + (plan.Plans ?? []).reduce((sum, below) => sum + rowsOf(below, table), 0);
}

/** The scenario's services, with each statement that kysely sends noted. */
function noting(sent: { text: string; values: readonly unknown[] }[]) {
  const { pool } = s.h.database;
  const noted = {
    connect: async () => {
      const client = await pool.connect();
      return {
        query: async (text: string, values: readonly unknown[]) => {
          sent.push({ text, values });
          return await client.query(text, values as unknown[]);
        },
        release: () => client.release(),
      };
    },
    end: async () => undefined,
  };
  return { ...s.services, db: createDatabase(noted as never) };
}

/** Copies of the newest mint, as they are when they have ended. */
async function copyMints(count: number): Promise<void> {
  const client = new pg.Client({ connectionString: s.h.database.url });
  await client.connect();
  try {
    // Only rows are wanted, not what their triggers do.
    await client.query("SET session_replication_role = replica");
    const { rows } = await client.query(
      `SELECT string_agg(format('%I', attname), ', ') AS columns FROM pg_attribute
       WHERE attrelid = 'service.intent'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
         AND attidentity = '' AND attname NOT IN ('id', 'root_id', 'idem_key', 'seq')`,
    );
    const { columns } = rows[0] as { columns: string };
    await client.query(
      `INSERT INTO service.intent (id, root_id, idem_key, seq, ${columns})
       SELECT g.id, g.id, g.id::text, (SELECT max(seq) FROM service.intent) + n, ${columns}
       FROM (SELECT * FROM service.intent WHERE kind = 'mint' ORDER BY seq DESC LIMIT 1) m,
         (SELECT n, gen_random_uuid() AS id FROM generate_series(1, $1::integer) n) g`,
      [count],
    );
    await client.query("ANALYZE service.intent");
  } finally {
    await client.end();
  }
}

test("a mint, and a list of mints, look at a few requests however many the contract has", async () => {
  const contract = await s.contract();
  const tokens = () => [{ to: randomAddress(), uri }];
  await s.ended(await s.mint({ contract, tokens: tokens() }));
  await copyMints(mintsBefore);
  const sent: { text: string; values: readonly unknown[] }[] = [];
  const services = noting(sent);
  await s.mint({ contract, tokens: tokens() }, services);
  const { nfts } = await listMints(services, s.caller, { chain: undefined, pageNumber: 1, pageSize: 50 });
  await readMintedFacts(services, nfts);
  const asked = sent.filter(({ text }) => /predicted_addr/.test(text) && /^\s*(select|with)/i.test(text));
  expect(asked.length).toBeGreaterThan(1);
  for (const { text, values } of asked) {
    const { rows } = await s.h.database.pool.query(
      `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${text}`,
      values as unknown[],
    );
    expect(rowsOf(rows[0]["QUERY PLAN"][0].Plan, "intent"), text).toBeLessThan(200);
  }
});
