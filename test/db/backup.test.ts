import { randomBytes } from "node:crypto";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { verifyAudit } from "../../src/auth/audit.ts";
import { ipfsDir, loadConfig } from "../../src/config.ts";
import { restoreBackup, takeBackup } from "../../src/db/backup.ts";
import { createServices } from "../../src/services.ts";
import { readContent } from "../../src/uploads/read-content.ts";
import { ApiServer } from "../setup/api-server.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { furnish } from "../tenants/tenant.ts";

let api: ApiServer;
let fresh: TestDatabase;
let dir: string;
beforeAll(async () => {
  api = await ApiServer.start();
  fresh = await createTestDatabase({ migrated: false });
  dir = await mkdtemp(join(tmpdir(), "mintyard-backup-"));
});
afterAll(async () => {
  await fresh?.drop();
  await api?.close();
  await rm(dir, { recursive: true, force: true });
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
  const manifest = await takeBackup(config.databaseUrl, ipfsDir(config), folder);
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
  await restoreBackup(fresh.url, ipfsDir(restored), folder);
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
    for (const table of ["slot", "attempt", "lane"]) {
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
  await expect(restoreBackup(fresh.url, ipfsDir(restored), folder)).rejects.toThrow("holds accounts already");
});
