import { spawn } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { clockLead, clockTrouble } from "../../src/db/pool/clock.ts";
import { ApiServer } from "../setup/api-server.ts";
import { bareEnvironment } from "../setup/bare-environment.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";

const root = join(import.meta.dirname, "../..");

let api: ApiServer;
let empty: TestDatabase;
beforeAll(async () => {
  empty = await createTestDatabase();
  // Not a local chain: of those the time is moved on purpose.
  api = await ApiServer.start({ LOCAL_GOERLI: "false" });
});
afterAll(async () => {
  await api?.close();
  await empty?.drop();
});

test("what a question took is no difference of clocks", () => {
  expect(clockLead(1_000, 999_000, 1_003_000)).toBe(0);
  expect(clockLead(1_000, 4_600_000, 4_601_000)).toBe(3_600);
  expect(clockLead(4_600, 999_000, 1_000_000)).toBe(-3_600);
  expect([clockTrouble(0), clockTrouble(60), clockTrouble(-60)]).toEqual([null, null, null]);
  expect(clockTrouble(-3_600)).toMatch(/^this machine's clock is 3600 s behind that of PostgreSQL/);
});

test("a process whose clock is an hour ahead says so at its start", async () => {
  const text = `
    import { prepareDatabase } from "./src/processes/prepare-database.ts";
    import { createLogger } from "./src/telemetry/log.ts";
    await prepareDatabase(process.env["DATABASE_URL"], createLogger("test", "warn"));`;
  const said = async (...flags: string[]) => {
    const child = spawn(process.execPath, [...flags, "--input-type=module-typescript", "-e", text], {
      cwd: root,
      stdio: ["ignore", "inherit", "pipe"],
      env: { ...bareEnvironment, DATABASE_URL: empty.url },
    });
    let words = "";
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      words += chunk;
    });
    expect(await new Promise((done) => child.once("close", done)), words).toBe(0);
    return words.split("\n").filter((line) => line.includes("clock"));
  };
  expect(await said()).toEqual([]);
  const [line = ""] = await said("--import", join(root, "test/setup/skewed-clock.mjs"));
  expect(JSON.parse(line).msg).toMatch(
    /^this machine's clock is 3\d\d\d s ahead of that of PostgreSQL in DATABASE_URL: have .*NTP/,
  );
});

test("/status compares the clocks, and names a chain whose newest block is later than the database's clock", async () => {
  await api.nfts.setHead(101);
  const time = "substr(latest_checkpoint, 1, 10)::bigint + 3600 || substr(latest_checkpoint, 11)";
  await api.database.pool.query(`UPDATE c31337_test._ponder_checkpoint SET latest_checkpoint = ${time}`);
  const { body } = await api.send("GET", "/status", null);
  expect(body.clock).toEqual({ aheadSeconds: 0, wrong: false });
  const troubles = (name: string) => body.chains.find(({ chain }: { chain: string }) => chain === name)?.troubles;
  expect(troubles("goerli")).toContain("block_from_future");
  expect(troubles("ethereum")).not.toContain("block_from_future");
  expect((await api.send("GET", "/readyz", null)).body.reasons).toContain("goerli: block_from_future");
});
