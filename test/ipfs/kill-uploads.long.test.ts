import { fork } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { CarReader } from "@ipld/car/reader";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openContentStore } from "../../src/ipfs/content-store.ts";
import { abandonedAfterMs } from "../../src/ipfs/sweep-parts.ts";
import { bareEnvironment } from "../setup/bare-environment.ts";
import { slowness } from "../setup/wait.ts";
import { startUploadServer, type UploadServer } from "../uploads/upload-server.ts";

/** KILL_POINTS=50 (`npm run -s mintyard -- dev kill uploads`) is the long run; the short one spreads fewer over the same path. */
const points = Number(process.env["KILL_POINTS"] ?? 6);

let server: UploadServer;
let databaseUrl: string;
beforeAll(async () => {
  server = await startUploadServer();
  databaseUrl = server.services.config.databaseUrl;
});
afterAll(() => server.close());

type Kind = "file" | "directory";

interface Acknowledged {
  cid: string;
  steps: number;
}

/** Uploads in a process of its own. @returns what it acknowledged before it ended, in order, and how it ended. */
async function upload(kind: Kind, seeds: readonly string[], killAt?: number) {
  const child = fork(new URL("./kill-at-step.ts", import.meta.url), {
    env: {
      ...bareEnvironment,
      DATABASE_URL: databaseUrl,
      MINTYARD_DATA_DIR: server.services.config.dataDir,
      LOG_LEVEL: "silent",
    },
    execArgv: [],
  });
  const acknowledged: Acknowledged[] = [];
  child.on("message", (message: { ready?: true } & Partial<Acknowledged>) => {
    if (message.ready) child.send({ accountId: server.accountId, kind, seeds, killAt });
    else if (message.cid) acknowledged.push({ cid: message.cid, steps: message.steps ?? 0 });
  });
  const [, signal] = await once(child, "exit");
  return { acknowledged, signal: signal as string | null };
}

/** Every file below every root that the database knows, read to its end through the store, which checks hashes. */
async function expectAllReadable(readBefore: ReadonlySet<string> = new Set()): Promise<Set<string>> {
  const { db } = server.services;
  // A store of its own: nothing that was read before helps.
  const content = openContentStore(server.services.config, db);
  const cars = await db.selectFrom("service.car").select(["root", "file"]).execute();
  for (const { root, file } of cars) {
    if (readBefore.has(root)) continue;
    const found = await content.resolve(root, []);
    const names = found?.kind === "directory" ? (await found.entries()).map(({ name }) => [name]) : [[]];
    expect(names.length).toBeGreaterThan(0);
    for (const path of names) {
      const entry = await content.resolve(root, path);
      if (entry?.kind !== "file") throw new Error(`${root}/${path} is known but is no file`);
      let size = 0;
      for await (const chunk of entry.stream()) size += chunk.length;
      expect(size).toBe(entry.size);
    }
    // The file by another reader: what would be handed on is whole as well.
    const car = await CarReader.fromBytes(
      await content.withCar(file, async (car) => new Uint8Array(await car.arrayBuffer())),
    );
    expect((await car.getRoots()).map(String)).toEqual([root]);
  }
  await content.close();
  return new Set(cars.map(({ root }) => root));
}

const uploads = async (cid: string) =>
  (await server.services.db.selectFrom("service.upload").select("id").where("cid", "=", cid).execute()).length;

test.each<Kind>(["file", "directory"])(
  "kill -9 at every stage of a %s: what was acknowledged is whole, what was not is all there or not at all",
  { timeout: 900_000 * slowness },
  async (kind) => {
    // The first one makes the folders; how many steps an upload has is counted on the second.
    const { acknowledged: unharmed } = await upload(kind, [`${kind} first`, `${kind} whole`]);
    const whole = unharmed[1];
    if (!whole) throw new Error("the upload that nobody killed was not acknowledged");
    expect(whole.steps).toBeGreaterThan(20);
    const count = Math.min(Math.ceil(points / 2), whole.steps);
    const steps = Array.from({ length: count }, (_, index) =>
      Math.round(1 + (index * (whole.steps - 1)) / (count - 1)),
    );
    let killed = 0;
    // After each kill what is new is read, at the end everything.
    let known = await expectAllReadable();
    for (const killAt of steps) {
      const { acknowledged, signal } = await upload(kind, [`${kind} ${killAt}`], killAt);
      known = await expectAllReadable(known);
      if (signal === "SIGKILL") {
        killed += 1;
        expect({ killAt, acknowledged }).toEqual({ killAt, acknowledged: [] });
      } else {
        // A folder that stood already saves the steps of making it.
        expect(acknowledged[0]?.steps).toBeLessThan(killAt);
        expect(known.has(acknowledged[0]?.cid ?? "")).toBe(true);
      }
    }
    expect(killed).toBeGreaterThanOrEqual(Math.max(count - 3, Math.ceil(count / 2)));
    known = await expectAllReadable();
    expect(known.has(whole.cid)).toBe(true);
    expect(await uploads(whole.cid)).toBe(1);

    // Ten minutes later nothing is left of the dead but what was put aside, and the same content can come again.
    await server.services.content.sweep(Date.now() + abandonedAfterMs + 60_000);
    const folder = join(server.services.config.dataDir, "ipfs");
    const names = await readdir(folder, { recursive: true });
    expect(names.filter((name) => name.endsWith(".part"))).toEqual([]);
    const cars = await server.services.db.selectFrom("service.car").select("file").execute();
    const onDisk = names.filter((name) => name.endsWith(".car")).map((name) => name.slice(-40, -4));
    expect(onDisk.sort()).toEqual(cars.map(({ file }) => file).sort());
    const again = steps.map((killAt) => `${kind} ${killAt}`);
    expect((await upload(kind, again)).acknowledged).toHaveLength(steps.length);
    await expectAllReadable();
  },
);
