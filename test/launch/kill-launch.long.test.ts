import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { Step } from "../../bin/launch/journal.ts";
import { rpc } from "../chaos/fleet.ts";
import { Client } from "../setup/client.ts";
import { SeededGenerator } from "../setup/seeded-generator.ts";
import { leaseStack } from "../setup/shared-stack.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { slowness, wait } from "../setup/wait.ts";
import { makeArtwork } from "./artwork.ts";
import { deployedCollections } from "./deployed-collections.ts";
import { startLaunch } from "./launch-process.ts";

// One folder of 24 pictures, and launches of it that are killed. KILL_SEED repeats a run, LAUNCH_KILLS says how many are killed.
const kills = Number(process.env["LAUNCH_KILLS"] ?? 8);
const count = 24;
const seed = Number(process.env["KILL_SEED"] ?? Date.now() % 1_000_000);

const stack = leaseStack();
let database: pg.Client;
const dir = temporaryFolder();

beforeAll(async () => {
  database = new pg.Client({ connectionString: stack.ready.databaseUrl });
  await database.connect();
});
afterAll(() => database?.end());

async function numberOf(query: string): Promise<number> {
  const { rows } = await database.query<{ count: string }>(query);
  return Number(rows[0]?.count);
}

/** What the service has of launches, those of other files included. */
async function stored(): Promise<{ files: number; contents: number; deployments: number; collections: string[] }> {
  return {
    files: await numberOf("SELECT count(*) FROM service.upload WHERE kind = 'file'"),
    contents: await numberOf("SELECT count(DISTINCT cid) FROM service.upload WHERE kind = 'file'"),
    deployments: await numberOf("SELECT count(*) FROM service.intent WHERE kind = 'deploy'"),
    collections: await deployedCollections(stack.ready),
  };
}

test(`killed at ${kills} points, a launch ends as one collection, with each file stored once`, {
  timeout: 600_000 * slowness,
}, async () => {
  process.stdout.write(`KILL_SEED=${seed}\n`);
  const random = new SeededGenerator(seed).next;
  const folder = join(dir, "art");
  const journal = join(dir, "art.launch.jsonl");
  await makeArtwork(folder, { count, seed });
  const env = { MINTYARD_DATA_DIR: stack.dir, MINTYARD_KEY: stack.ready.apiKey };
  const args = [folder, "--yes", "--json"];
  const steps = () => (existsSync(journal) ? readFileSync(journal, "utf8").split("\n").length - 1 : 0);
  const before = await stored();
  const killedAfter: number[] = [];
  while (killedAfter.length < kills) {
    const running = startLaunch(args, env);
    let over = false;
    void running.ended.then(() => {
      over = true;
    });
    // Some steps further than the last one, so that the kills lie everywhere between the first upload and the last line.
    const goal = Math.min(steps() + Math.floor(random() * ((2 * (count + 6)) / kills)), count + 6);
    while (!over && steps() < goal) await new Promise((done) => setTimeout(done, 10));
    await new Promise((done) => setTimeout(done, random() * 60));
    running.kill();
    await running.ended;
    killedAfter.push(steps());
  }
  const last = await startLaunch(args, env).ended;
  expect(last.code, last.stderr).toBe(0);
  process.stdout.write(`steps on record after each kill: ${killedAfter.join(" ")}\n`);

  const lines = readFileSync(journal, "utf8").trim().split("\n");
  const recorded = lines.map((line) => JSON.parse(line) as Step);
  expect(recorded.filter(({ step }) => step === "file")).toHaveLength(count);
  expect(recorded.filter(({ step }) => step === "deploy_intent")).toHaveLength(1);
  const now = await stored();
  expect(now.files - before.files).toBe(count);
  expect(now.contents - before.contents).toBe(count);
  expect(now.deployments - before.deployments).toBe(1);
  expect(now.collections.slice(before.collections.length)).toEqual(
    recorded.flatMap((step) => (step.step === "deployed" ? [step.address] : [])),
  );
});

test(
  "a launch whose deployment ended without a collection begins another one, with what was uploaded",
  async () => {
    const { apiKey } = stack.ready;
    const rpcUrl = stack.ready.rpcUrl ?? "";
    const client = new Client(stack.ready);
    const env = { MINTYARD_DATA_DIR: stack.dir, MINTYARD_KEY: apiKey };
    const move = (state: string) =>
      database.query("UPDATE service.relayer_wallet SET state = $1 WHERE state IN ('open', 'halted')", [state]);
    // Others work with the stack after this.
    onTestFinished(async () => {
      await move("open");
      await rpc(rpcUrl, "evm_setAutomine", [true]);
    });
    /** How the first deployment comes to nothing; each puts things right again. */
    const ends: Record<string, (journal: string) => Promise<void>> = {
      // Its bytes are signed, so an empty transaction takes their nonce.
      cancelled: async (journal) => {
        const sent = () =>
          existsSync(journal) && /"step":"deployment","id":"([^"]+)"/.exec(readFileSync(journal, "utf8"))?.[1];
        const id = await wait("the deployment", sent);
        const cancel = "mutation ($id: ID!) { cancelDeployment(id: $id) { userErrors { message } } }";
        const { body } = await client.graphql(cancel, { id });
        expect(body["data"]).toEqual({ cancelDeployment: { userErrors: [] } });
        const pending = () => rpc<{ input: string }[]>(rpcUrl, "eth_pendingTransactions");
        await wait("the empty transaction", async () => (await pending()).some(({ input }) => input === "0x"));
        await rpc(rpcUrl, "evm_mine");
        await rpc(rpcUrl, "evm_setAutomine", [true]);
      },
      // Never signed: the wallet is halted.
      expired: async () => {
        const held = "SELECT id FROM service.intent WHERE kind = 'deploy' AND state = 'held'";
        const id = await wait("a deployment that waits", async () => (await database.query(held)).rows[0]?.id);
        const expire =
          "UPDATE service.intent SET expires_at = clock_timestamp(), version = version + 1 WHERE id = $1 AND state = 'held'";
        await database.query(expire, [id]);
        const over = "SELECT FROM service.intent WHERE id = $1 AND state = 'expired'";
        await wait("its end", async () => (await database.query(over, [id])).rowCount);
        await move("open");
      },
    };
    for (const [state, end] of Object.entries(ends)) {
      const folder = join(dir, state);
      await makeArtwork(folder, { count: 3, seed: seed + state.length, settings: { name: `Ended ${state}` } });
      if (state === "cancelled") await rpc(rpcUrl, "evm_setAutomine", [false]);
      else await move("halted");
      const before = await deployedCollections(stack.ready);
      const first = startLaunch([folder, "--yes"], env);
      await end(`${folder}.launch.jsonl`);
      const ended = await first.ended;
      expect(ended.code, ended.stderr).toBe(1);
      expect(ended.stderr).toContain(`ended as ${state}`);
      const uploads = await numberOf("SELECT count(*) FROM service.upload");
      const second = await startLaunch([folder, "--yes"], env).ended;
      expect(second.code, second.stderr).toBe(0);
      expect(await numberOf("SELECT count(*) FROM service.upload")).toBe(uploads);
      expect(await deployedCollections(stack.ready)).toHaveLength(before.length + 1);
      expect((await startLaunch([folder, "--yes"], env).ended).code).toBe(0);
      expect(await deployedCollections(stack.ready)).toHaveLength(before.length + 1);
    }
  },
  600_000 * slowness,
);
