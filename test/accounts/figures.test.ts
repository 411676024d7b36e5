import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readFigures } from "../../src/accounts/service-gauges.ts";
import { takeBackup } from "../../src/db/admin/backup.ts";
import { LocalCars } from "../../src/ipfs/local-cars.ts";
import { ApiServer } from "../setup/api-server.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { patient } from "../setup/wait.ts";
import { furnish } from "../tenants/tenant.ts";

let api: ApiServer;
beforeAll(async () => {
  api = await ApiServer.start();
  await furnish(api, "figures");
  await api.database.pool.query(
    `INSERT INTO service.chain_freshness (chain_id, chain_name, schema_name, indexed_block, indexed_timestamp, node_head)
     VALUES (31337, 'goerli', 'x', 10, 1, 12) ON CONFLICT DO NOTHING`,
  );
});
afterAll(() => api?.close());

const figures = async () => {
  const found = await readFigures(api.services);
  if (!found) throw new Error("no figures");
  return found;
};
const hours = (count: number) => [count * 3_600 - 5, count * 3_600 + 60] as const;
const ageOf = async (queue: string) => (await figures()).queues.find((one) => one.queue === queue)?.seconds ?? 0;

test("the age of each queue is that of its oldest item, of all accounts, whoever asks", async () => {
  const { pool } = api.database;
  // The one that the account was furnished with.
  expect(await ageOf("deployment")).toBeLessThan(3_600);
  // Without the triggers that book and audit: nobody asked for these.
  const client = await pool.connect();
  await client.query("SET session_replication_role = replica");
  await client.query(`
    INSERT INTO service.intent SELECT (jsonb_populate_record(i, jsonb_build_object('id', gen_random_uuid(),
      'root_id', gen_random_uuid(), 'state', 'queued', 'version', 0, 'seq', 1000 + hours, 'kind', wanted, 'idem_key', wanted || hours,
      'settled_at', null, 'created_at', clock_timestamp() - hours * interval '1 hour'))).*
    FROM service.intent i, (VALUES ('deploy', 2), ('deploy', 1), ('update', 3)) AS waiting (wanted, hours)
    WHERE i.id = (SELECT id FROM service.intent ORDER BY created_at LIMIT 1)`);
  client.release(true);
  await pool.query(
    `INSERT INTO service.token_metadata (chain_id, contract, token_id, priority, next_attempt_at)
     VALUES (31337, $1, 1, 0, clock_timestamp() - interval '4 hours'), (31337, $1, 2, 3, clock_timestamp() - interval '9 hours')`,
    [randomBytes(20)],
  );
  await pool.query(
    "UPDATE service.upload SET pin_state = 'queued', created_at = clock_timestamp() - interval '5 hours'",
  );
  for (const [queue, [least, most]] of Object.entries({
    ...{ deployment: hours(2), update: hours(3), pin: hours(5) },
    // What is read in the background may wait for longer.
    metadata: hours(4),
  })) {
    const seconds = await ageOf(queue);
    expect(seconds, queue).toBeGreaterThan(least);
    expect(seconds, queue).toBeLessThan(most + 600);
  }
});

test("an API process is bound by row-level security, and a policy that is switched off is reported", async () => {
  expect((await figures()).unbound).toEqual([]);
  // A login that owns the tables sees everything: a worker's.
  const owners = await readFigures({ db: api.database.db });
  expect(owners?.unbound).toEqual(expect.arrayContaining(["account", "intent", "upload"]));
  await api.database.pool.query("ALTER TABLE service.upload DISABLE ROW LEVEL SECURITY");
  expect((await figures()).unbound).toEqual(["upload"]);
  await api.database.pool.query("ALTER TABLE service.upload ENABLE ROW LEVEL SECURITY");
});

test("a backup is recorded with the moment that it shows; until then the database's own age counts", async () => {
  const dir = temporaryFolder();
  await api.database.pool.query("UPDATE service.migration SET applied_at = applied_at - interval '2 days'");
  const before = await figures();
  expect([before.backedUp, before.backupSeconds > 2 * 86_400]).toEqual([false, true]);
  const taken = await takeBackup(api.database.url, new LocalCars(join(dir, "no-ipfs")), join(dir, "backup"));
  expect(taken.recorded).toBe(true);
  const after = await figures();
  expect([after.backedUp, after.backupSeconds < 600]).toEqual([true, true]);
  // A database that is made from it was not backed up itself.
  const manifest = JSON.parse(await readFile(join(dir, "backup/manifest.json"), "utf8"));
  expect(manifest.tables.map(({ name }: { name: string }) => name)).not.toContain("last_backup");
  // Taken in another way.
  await api.database.pool.query("SELECT service.record_backup(clock_timestamp() - interval '1 hour')");
  expect((await figures()).backupSeconds).toBeLessThan(600);
  // The HTTP process cannot say that there was one.
  await expect(api.services.pool.query("SELECT service.record_backup()")).rejects.toThrow(
    /row-level security|permission denied/,
  );
});

test("a flood of scrapes asks the database no more than a single one", async () => {
  let lent = 0;
  const count = () => {
    lent += 1;
  };
  api.services.pool.on("acquire", count);
  try {
    const scrape = async () => (await fetch(`${api.url}/metrics`)).text();
    // Whatever was kept is over: the flood has to begin with a reading.
    await expect.poll(scrape, patient).toContain("mintyard_backup_taken 1".replace(" ", '{process="api"} '));
    const [before, begun] = [lent, performance.now()];
    const texts = await Promise.all(Array.from({ length: 200 }, scrape));
    // Status, figures and disk may each be read once, and again when five seconds are over.
    const periods = 1 + Math.floor((performance.now() - begun) / 5_000);
    expect(lent - before).toBeLessThanOrEqual(3 * periods);
    for (const text of texts) expect(text).toContain('mintyard_queue_oldest_seconds{queue="pin",process="api"}');
  } finally {
    api.services.pool.off("acquire", count);
  }
});
