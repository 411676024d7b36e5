import { randomBytes, randomUUID } from "node:crypto";
import { mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { verifyAudit } from "../../src/auth/audit.ts";
import { ipfsDir, loadConfig } from "../../src/config/config.ts";
import { takeBackup } from "../../src/db/admin/backup.ts";
import { restoreBackup } from "../../src/db/admin/restore.ts";
import { LocalCars } from "../../src/ipfs/local-cars.ts";
import { createServices } from "../../src/processes/create-services.ts";
import { prepareDatabase } from "../../src/processes/prepare-database.ts";
import { createLogger } from "../../src/telemetry/log.ts";
import { readContent } from "../../src/uploads/read-content.ts";
import { ApiServer } from "../setup/api-server.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { furnish } from "../tenants/tenant.ts";

let api: ApiServer;
let fresh: TestDatabase;
const dir = temporaryFolder();
beforeAll(async () => {
  api = await ApiServer.start();
  fresh = await createTestDatabase({ migrated: false });
});
afterAll(async () => {
  await fresh?.drop();
  await api?.close();
});

test("files that come and go beside the archives end no copy of them", async () => {
  const store = join(dir, "store");
  const archives = Array.from({ length: 200 }, () => `ab${randomUUID().slice(2)}.car`);
  for (const name of ["cars/ab", "incoming"]) await mkdir(join(store, name), { recursive: true });
  for (const name of archives) await writeFile(join(store, "cars/ab", name), name);
  let over = false;
  const churn = async (folder: string, name: string) => {
    for (let count = 0; !over; count += 1) {
      const path = join(store, folder, `${count % 50}${name}`);
      await writeFile(path, "");
      await rm(path);
    }
  };
  const churns = [churn("incoming", ".orphan"), churn("cars/ab", ".car"), churn("cars/ab", "other.car")];
  await new LocalCars(store).copyOut(join(dir, "copy"));
  over = true;
  await Promise.all(churns);
  expect(await readdir(join(dir, "copy/cars/ab"))).toEqual(expect.arrayContaining(archives));
  await new LocalCars(join(dir, "nothing-here")).copyOut(join(dir, "copy-of-nothing"));
});

test("a backup taken under load restores accounts, keys, deployments, uploads and their bytes into a new folder", async () => {
  const tenant = await furnish(api, "restored");
  const bytes = new Uint8Array(randomBytes(100_000));
  const form = new FormData();
  form.append("file", new Blob([bytes]), "big.bin");
  const headers = { Authorization: tenant.key };
  const uploaded = (await (await fetch(`${api.url}/v0/files`, { method: "POST", headers, body: form })).json()) as {
    ipfs_url: string;
  };
  let over = false;
  const load = (async () => {
    for (let count = 0; !over; count += 1) {
      await api.account("free", `load ${count}`);
      await api.send("POST", "/v0/metadata", tenant.key, { name: `n${count}`, description: "", file_url: "ipfs://x" });
    }
  })();
  const folder = join(dir, "backup");
  const { config } = api.services;
  const manifest = await takeBackup(config.databaseUrl, new LocalCars(ipfsDir(config)), folder);
  over = true;
  await load;
  expect(manifest.tables.find(({ name }) => name === "intent")?.rows).toBe(2);
  const modeOf = async (name: string) => (await stat(join(folder, name))).mode & 0o777;
  for (const name of ["manifest.json", "service/account.copy", "service/key_secret.copy"])
    expect([name, (await modeOf(name)).toString(8)]).toEqual([name, "600"]);
  for (const name of [".", "service"]) expect([name, (await modeOf(name)).toString(8)]).toEqual([name, "700"]);

  const restored = loadConfig({
    DATABASE_URL: fresh.url,
    MINTYARD_DATA_DIR: join(dir, "data"),
    LOG_LEVEL: "silent",
  });
  await restoreBackup(fresh.url, new LocalCars(ipfsDir(restored)), folder);
  const services = createServices(restored, "test");
  try {
    // The key opens the same account, and every row of the tenant is there, byte for byte.
    expect((await services.auth.keys.owner(tenant.key)).accountId).toBe(tenant.ids.account);
    for (const [table, column] of [
      ["api_key", "account_id"],
      ["intent", "tenant_id"],
      ["charge", "account_id"],
    ]) {
      const rows = `SELECT to_jsonb(t) - 'last_used_at' AS row FROM service.${table} t WHERE ${column} = $1 ORDER BY 1`;
      const before = await api.database.pool.query(rows, [tenant.ids.account]);
      expect((await fresh.pool.query(rows, [tenant.ids.account])).rows).toEqual(before.rows);
    }
    for (const table of ["nonce_reservation", "attempt", "relayer_wallet"]) {
      const rows = `SELECT t::text FROM service.${table} t ORDER BY 1`;
      expect((await fresh.pool.query(rows)).rows).toEqual((await api.database.pool.query(rows)).rows);
    }
    const content = await readContent(services, uploaded.ipfs_url.split("/").at(-1) ?? "", []);
    if (content?.kind !== "file") throw new Error("the file is not there");
    const chunks: Uint8Array[] = [];
    for await (const chunk of content.stream({ offset: 0, length: content.size })) chunks.push(chunk);
    expect(Buffer.concat(chunks).equals(Buffer.from(bytes))).toBe(true);
    // Every upload that a row names can be read: rows and archives are of one moment.
    const { rows: uploads } = await fresh.pool.query("SELECT DISTINCT cid FROM service.upload");
    for (const { cid } of uploads) expect((await readContent(services, cid, []))?.kind, cid).toBe("file");
    expect(await verifyAudit(fresh.db)).toMatchObject({ brokenAt: null });
    // Identity columns go on: a new upload gets an archive row of its own.
    await fresh.pool.query("INSERT INTO service.car (root, file, size) VALUES ('next', gen_random_uuid(), 1)");
  } finally {
    await services.content.close();
    await services.pool.end();
  }
  await expect(restoreBackup(fresh.url, new LocalCars(ipfsDir(restored)), folder)).rejects.toThrow(
    "holds accounts already",
  );
});

test("a login that owns its database and nothing else restores it, and a superuser restores it for that login", async () => {
  await furnish(api, "owned");
  const folder = join(dir, "owned");
  const { config } = api.services;
  await takeBackup(config.databaseUrl, new LocalCars(ipfsDir(config)), folder);
  await expect(takeBackup(config.databaseUrl, new LocalCars(ipfsDir(config)), folder)).rejects.toThrow(
    "holds a backup already: name a new folder",
  );
  await expect(restoreBackup(config.databaseUrl, new LocalCars(ipfsDir(config)), join(dir, "none"))).rejects.toThrow(
    "no whole backup",
  );
  const login = `owner_${randomBytes(4).toString("hex")}`;
  const admin = api.database.pool;
  await admin.query(`CREATE ROLE ${login} LOGIN NOSUPERUSER PASSWORD 'x'`);
  const shapeOf = async (client: { query: pg.Pool["query"] }) =>
    (
      await client.query(
        `SELECT 'constraint' AS kind, conrelid::regclass::text AS on_table, conname::text AS name,
           pg_get_constraintdef(oid) || convalidated AS definition
         FROM pg_constraint WHERE connamespace = 'service'::regnamespace
         UNION ALL SELECT 'trigger', tgrelid::regclass::text, tgname::text, tgenabled::text FROM pg_trigger
         WHERE NOT tgisinternal AND tgrelid::regclass::text LIKE 'service.%' ORDER BY 1, 2, 3`,
      )
    ).rows;
  const wanted = await shapeOf(admin);
  expect(wanted.length).toBeGreaterThan(50);
  try {
    for (const who of ["login", "superuser"]) {
      const name = `${login}_${who}`;
      await admin.query(`CREATE DATABASE ${name} OWNER ${login}`);
      const own = new URL(config.databaseUrl);
      own.pathname = `/${name}`;
      const administrators = own.href;
      own.username = login;
      own.password = "x";
      const restored = new pg.Pool({ connectionString: own.href, max: 2 });
      try {
        await restoreBackup(
          who === "login" ? own.href : administrators,
          new LocalCars(join(dir, `data-${who}`)),
          folder,
        );
        const { rows: owners } = await restored.query(
          `SELECT DISTINCT pg_get_userbyid(relowner) AS owner FROM pg_class WHERE relnamespace = 'service'::regnamespace`,
        );
        expect(owners, who).toEqual([{ owner: login }]);
        // The service starts on it and writes.
        await prepareDatabase(own.href, createLogger("test", "silent"));
        expect(await shapeOf(restored), who).toEqual(wanted);
        await restored.query("UPDATE service.account SET name = name || '!'");
        await expect(restoreBackup(own.href, new LocalCars(join(dir, "data")), folder)).rejects.toThrow(
          "restore into a fresh one (CREATE DATABASE) and name it in DATABASE_URL",
        );
      } finally {
        await restored.end();
        // Without FORCE: PostgreSQL waits for connections that are ending, and ends none of them with an error.
        await admin.query(`DROP DATABASE ${name}`);
      }
    }
  } finally {
    await admin.query(`DROP ROLE ${login}`);
  }
});
