import { execFile } from "node:child_process";
import { readFile, unlink, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ipfsDir } from "../../src/config/config.ts";
import { ensureNftViews } from "../../src/indexing/nft-views.ts";
import { carPath } from "../../src/ipfs/local-cars.ts";
import { readContentHealth, runChecks, watchContent } from "../../src/ipfs/run-checks.ts";
import { Rounds } from "../../src/rounds.ts";
import { createMetrics } from "../../src/telemetry/metrics.ts";
import { patient } from "../setup/wait.ts";
import { startUploadServer, type UploadServer } from "../uploads/upload-server.ts";

const rate = 4_000_000;
let server: UploadServer;
beforeAll(async () => {
  server = await startUploadServer({ IPFS_CHECK_BYTES_PER_SECOND: String(rate) });
  await ensureNftViews(server.services.config.databaseUrl);
});
afterAll(() => server.close());

/** No two blocks of it are the same: those would be stored once. */
async function add(fill: string, size: number): Promise<string> {
  const bytes = Buffer.alloc(size, fill);
  for (let at = 0; at < size - 4; at += 5_000) bytes.writeUInt32LE(at, at);
  async function* stream() {
    yield bytes;
  }
  return await server.services.content.addFile({ stream: stream() }, async (_transaction, { cid }) => cid);
}

const carOf = (root: string) =>
  server.services.db.selectFrom("service.car").selectAll().where("root", "=", root).executeTakeFirstOrThrow();
const pathOf = async (root: string) => carPath(ipfsDir(server.services.config), (await carOf(root)).file);

function doctor(): Promise<string> {
  const env = { DATABASE_URL: server.services.config.databaseUrl };
  return new Promise((done) => {
    execFile(process.execPath, ["bin/mintyard.ts", "doctor"], { env }, (_error, stdout, stderr) =>
      done(stdout + stderr),
    );
  });
}

/** Makes all content due and waits until each was read. */
async function checkAll(): Promise<number> {
  const { services } = server;
  await services.db
    .updateTable("service.car")
    .set({ check_after: new Date(0), checked_at: null })
    .execute();
  const stop = new AbortController();
  const began = performance.now();
  const running = runChecks(services, new Rounds(stop.signal));
  await expect
    .poll(async () => {
      const { stored, checked } = await readContentHealth(services.db);
      return stored - checked;
    }, patient)
    .toBe(0);
  const took = performance.now() - began;
  stop.abort();
  await running;
  return took;
}

test("damage of any kind is found, reported and counted; what is whole is not suspected", async () => {
  const whole = await add("w", 2_500_000);
  const flipped = await add("f", 2_500_000);
  const short = await add("s", 10_000);
  const gone = await add("g", 10_000);
  const bytes = await readFile(await pathOf(flipped));
  bytes[2_000_000] = (bytes[2_000_000] ?? 0) ^ 1;
  await writeFile(await pathOf(flipped), bytes);
  const cut = await readFile(await pathOf(short));
  await writeFile(await pathOf(short), cut.subarray(0, -1));
  await unlink(await pathOf(gone));

  const took = await checkAll();
  expect((await carOf(whole)).damage).toBeNull();
  expect((await carOf(flipped)).damage).toMatch(/^the block baf\w+ at byte \d+ is damaged$/);
  expect((await carOf(short)).damage).toMatch(/^the file has \d+ bytes instead of \d+$/);
  expect((await carOf(gone)).damage).toBe("the file is missing");
  // The whole one alone takes this long.
  expect(took).toBeGreaterThan((2_500_000 / rate) * 1_000);
  expect((await carOf(whole)).check_after.getTime()).toBeGreaterThan(Date.now() + 29 * 86_400_000);

  const metrics = createMetrics("worker");
  watchContent(metrics, server.services);
  expect(await metrics.registry.metrics()).toMatch(/^mintyard_damaged_content\{process="worker"\} 3$/m);

  // The doctor's exit code is for cron jobs; no chain is indexed here, so what it says of content is looked at.
  expect(await doctor()).toMatch(/FAIL C1 stored content is whole, 4 of 4 files were read: 3 faults\n.*the block baf/);

  // The operator brings one file back, and an upload another.
  await writeFile(await pathOf(short), cut);
  await add("g", 10_000);
  await checkAll();
  const { damaged, samples } = await readContentHealth(server.services.db);
  expect([damaged, samples.map(({ root }) => root)]).toEqual([1, [flipped]]);
});
