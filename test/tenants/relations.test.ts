import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAccount } from "../../src/auth/keys.ts";
import { createPool } from "../../src/db/pool/pool.ts";
import { setTenant, touchesOwned, withTenantScope } from "../../src/db/tenancy/tenant.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";

// What the role of the HTTP process sees of tenants' relations when a use case forgets to ask for its own account's rows.

let database: TestDatabase;
let own: string;
let foreign: string;
beforeAll(async () => {
  database = await createTestDatabase();
  const account = (name: string) => createAccount(database.db, "pepper", { name, tier: "free", key: randomUUID() });
  [own, foreign] = [await account("own"), await account("foreign")];
  for (const [tenant, byte] of [
    [own, "aa"],
    [foreign, "bb"],
  ])
    await database.pool.query(
      `INSERT INTO service.self_deployment (id, tenant_id, chain_id, req_hash, payload, owner, init_code_hash,
         init_code_bytes, scanned_to, address, tx_hash, block_number, block_hash)
       SELECT gen_random_uuid(), $1, 5, word, '{"name": "secret"}', part, word, 1, 1, part, word, 1, word
       FROM (SELECT decode(repeat($2, 32), 'hex') AS word, decode(repeat($2, 20), 'hex') AS part) AS bytes`,
      [tenant, byte],
    );
});
afterAll(() => database?.drop());

/** Runs statements as a request of the account does: under the role and the setting of the HTTP process. */
async function asTenant<T>(
  id: string,
  run: (query: (text: string) => Promise<Record<string, unknown>[]>) => Promise<T>,
) {
  const pool = createPool(database.url, "test", 1, { tenants: true });
  try {
    return await withTenantScope(async () => {
      setTenant(id);
      return await run(async (text) => (await pool.query(text)).rows);
    });
  } finally {
    await pool.end();
  }
}

test("an account's collections are seen by no other account, and by itself", async () => {
  const owners = "SELECT tenant_id FROM service.collection";
  expect((await database.pool.query(owners)).rows).toHaveLength(2);
  expect(await asTenant(own, (query) => query(owners))).toEqual([{ tenant_id: own }]);
  expect(await asTenant(foreign, (query) => query(owners))).toEqual([{ tenant_id: foreign }]);
  // The connection's setting follows the account, whatever it was used for before.
  await asTenant(own, async (query) => {
    expect(await query(owners)).toHaveLength(1);
    setTenant(foreign);
    expect(await query(owners)).toEqual([{ tenant_id: foreign }]);
  });
});

test("the view takes no writes, of anybody's collection", async () => {
  for (const write of [
    "DELETE FROM service.collection",
    `UPDATE service.collection SET tenant_id = '${own}'`,
    "INSERT INTO service.collection (chain_id) VALUES (5)",
  ])
    await expect(asTenant(own, (query) => query(write))).rejects.toMatchObject({ code: "55000" });
});

/** Relations that name an account and show others' rows on purpose, with the reason. */
const shared: Record<string, string> = {
  allowlist: "the same; a policy lets each account add its own only",
  collection_allowlist: "eligibility: any account may ask about any collection",
};

test("every relation that names an account shows the role of the HTTP process this account's rows only", async () => {
  const { rows } = await database.pool.query<{ relation: string; guarded: boolean }>(
    `SELECT c.relname AS relation, CASE c.relkind WHEN 'v' THEN coalesce(c.reloptions @> '{security_invoker=true}', false)
       ELSE c.relrowsecurity END AS guarded
     FROM pg_class c WHERE c.relnamespace = 'service'::regnamespace AND c.relkind IN ('r', 'v', 'p')
       AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname IN ('tenant_id', 'account_id')
         AND NOT a.attisdropped)
     ORDER BY 1`,
  );
  expect(rows.length).toBeGreaterThan(6);
  const open = rows.filter(({ relation, guarded }) => !guarded && !(relation in shared));
  expect(open).toEqual([]);
});

test("a statement on a relation with the policy of tenants is bound to the account that asks", async () => {
  const { rows } = await database.pool.query<{ relation: string }>(
    `SELECT DISTINCT tablename AS relation FROM pg_policies WHERE schemaname = 'service' AND policyname = 'tenant'
       AND cmd <> 'INSERT' ORDER BY 1`,
  );
  expect(rows.length).toBeGreaterThan(10);
  const unbound = rows.filter(({ relation }) => !touchesOwned(`select "id" from "service"."${relation}"`));
  expect(unbound).toEqual([]);
});
