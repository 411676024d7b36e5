import { createReadStream } from "node:fs";
import { mkdir, readdir, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from "@aws-sdk/client-s3";
import { CarReader } from "@ipld/car/reader";
import { exporter } from "ipfs-unixfs-exporter";
import { CID } from "multiformats/cid";
import { sha256 } from "multiformats/hashes/sha2";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadConfig } from "../../src/config/config.ts";
import { takeBackup } from "../../src/db/admin/backup.ts";
import { type ContentStore, openCars, openContentStore } from "../../src/ipfs/content-store.ts";
import { requireUsableStore } from "../../src/ipfs/require-usable-store.ts";
import { watchStore } from "../../src/ipfs/store-metrics.ts";
import { createLogger } from "../../src/telemetry/log.ts";
import { createMetrics } from "../../src/telemetry/metrics.ts";
import { SeededGenerator } from "../setup/seeded-generator.ts";
import { hasSwift, Swift, stranger } from "../setup/swift.ts";
import { TcpProxy } from "../setup/tcp-proxy.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { patient } from "../setup/wait.ts";
import { startUploadServer, type UploadServer } from "../uploads/upload-server.ts";
import { cidText, directoryNode, fileNode } from "./second-unixfs.ts";

const [minute, day] = [60_000, 86_400_000];

describe.skipIf(!hasSwift)("blocks in S3, by OpenStack Swift", () => {
  let swift: Swift;
  let proxy: TcpProxy;
  let client: S3Client;
  let settings: Record<string, string>;
  let server: UploadServer;
  beforeAll(async () => {
    swift = await Swift.start();
    proxy = await TcpProxy.start(swift.port);
    client = swift.client();
    settings = { ...(await swift.settings("content")), AWS_ENDPOINT_URL_S3: proxy.url };
    server = await startUploadServer({ ...settings, MAX_FILE_BYTES: "100000000" });
  });
  afterAll(async () => {
    await server?.close();
    client?.destroy();
    await proxy?.stop();
    await swift?.stop();
  });

  const noRecord = async (_transaction: unknown, content: { cid: string }) => content.cid;
  const add = async (bytes: Uint8Array, store: ContentStore = server.services.content) =>
    await store.addFile({ stream: chunks(bytes) }, noRecord);

  const configOf = (dataDir: string, more: Record<string, string> = {}) =>
    loadConfig({ ...settings, DATABASE_URL: server.services.config.databaseUrl, MINTYARD_DATA_DIR: dataDir, ...more });

  /** The store of another host: its folder is empty, and nothing else is shared but the bucket and the database. */
  async function onAnotherHost<T>(
    use: (store: ContentStore, dataDir: string) => Promise<T>,
    more: Record<string, string> = {},
  ): Promise<T> {
    const dataDir = temporaryFolder();
    const store = openContentStore(configOf(dataDir, more), server.services.db);
    try {
      return await use(store, dataDir);
    } finally {
      await store.close();
    }
  }

  const keys = async (prefix = "blocks/") =>
    ((await client.send(new ListObjectsV2Command({ Bucket: "content", Prefix: prefix }))).Contents ?? []).map(
      ({ Key = "" }) => Key,
    );

  async function keyOf(cid: string): Promise<string> {
    const rows = await server.services.db.selectFrom("service.car").select("file").where("root", "=", cid).execute();
    const { file = "" } = rows[0] ?? {};
    return `blocks/cars/${file.slice(0, 2)}/${file}.car`;
  }

  const objectOf = async (key: string) => {
    const { Body } = await client.send(new GetObjectCommand({ Bucket: "content", Key: key }));
    return Buffer.from((await Body?.transformToByteArray()) ?? []);
  };

  async function read(store: ContentStore, cid: string, path: string[] = []): Promise<Buffer> {
    const found = await store.resolve(cid, path);
    if (found?.kind !== "file") throw new Error(`${cid} is no file`);
    return await gather(found.stream());
  }

  test("an acknowledged file is one object that other libraries read, whole or in parts, and a second host serves it", async () => {
    for (const length of [1, 1_300_000, 20_500_000]) {
      const bytes = noise(length, length);
      const cid = await add(bytes);
      expect(cid).toBe(cidText(fileNode(bytes).cid));
      const car = await CarReader.fromBytes(await objectOf(await keyOf(cid)));
      expect((await car.getRoots()).map(String)).toEqual([cid]);
      const node = await exporter(CID.parse(cid), {
        async *get(key: CID) {
          const block = await car.get(key);
          if (!block) throw new Error(`${key} is missing`);
          expect((await sha256.digest(block.bytes)).bytes).toEqual(key.multihash.bytes);
          yield block.bytes;
        },
      });
      if (node.type !== "file" && node.type !== "raw") throw new Error("no file");
      expect((await gather(node.content() as AsyncIterable<Uint8Array>)).equals(bytes)).toBe(true);
      await onAnotherHost(async (other) => expect((await read(other, cid)).equals(bytes)).toBe(true));
    }
    // Nothing of it is left on the machine that took it.
    expect((await server.files()).filter((name) => /\.(car|part)$/.test(name))).toEqual([]);
  });

  test("a directory is found by its names on another host, by few requests, and its CID is another library's", async () => {
    const names = Array.from({ length: 600 }, (_, id) => `${id}`);
    const bytesOf = (name: string) => Buffer.from(`{"name":"S3 ${name}"}`);
    async function* files() {
      for (const name of names) yield { names: [name], bytes: bytesOf(name), contentType: "application/json" };
    }
    const cid = await server.services.content.addDirectory(files(), noRecord);
    expect(cid).toBe(cidText(directoryNode(new Map(names.map((name) => [name, fileNode(bytesOf(name))]))).cid));
    await onAnotherHost(async (other) => {
      const metrics = createMetrics("api");
      watchStore(metrics, other.cars);
      for (const name of names) expect((await read(other, cid, [name])).equals(bytesOf(name))).toBe(true);
      const text = await metrics.registry.metrics();
      const counted = /^mintyard_store_request_duration_seconds_count\{[^}]*action="read"[^}]*\} (\d+)$/m.exec(text);
      const requests = Number(counted?.[1]);
      expect(requests).toBeGreaterThan(0);
      expect(requests).toBeLessThan(10);
      expect(text).toMatch(/^mintyard_store_cache_pieces_total\{[^}]*result="hit"[^}]*\} \d{3}$/m);
      expect(text).toMatch(/^mintyard_store_up\{process="api"\} 1$/m);
    });
  });

  test("copies stay within their bound, and one that is cut, empty or changed is never served", async () => {
    const bytes = noise(6_000_000, 60);
    const cid = await add(bytes);
    const bound = 2_097_152;
    await onAnotherHost(
      async (other, dataDir) => {
        const cache = join(dataDir, "ipfs", "cache");
        for (let round = 0; round < 2; round += 1) {
          expect((await read(other, cid)).equals(bytes)).toBe(true);
          // No reader waits for the look that removes the oldest.
          await expect.poll(() => sizeOf(cache), patient).toBeLessThanOrEqual(bound);
          expect(await sizeOf(cache)).toBeGreaterThan(3 * 262_144);
        }
      },
      { IPFS_CACHE_BYTES: String(bound) },
    );
    await onAnotherHost(async (other, dataDir) => {
      expect((await read(other, cid)).equals(bytes)).toBe(true);
      const pieces = await filesOf(join(dataDir, "ipfs", "cache"));
      for (const [at, path] of pieces.entries()) {
        if (at % 3 === 0) await truncate(path, 0);
        else if (at % 3 === 1) await truncate(path, 100_000);
        else await writeFile(path, Buffer.alloc(262_144, 7));
      }
      // What a process has in memory would hide the disk's: another one has the same folder.
      const again = openContentStore(configOf(dataDir), server.services.db);
      expect((await read(again, cid)).equals(bytes)).toBe(true);
      await again.close();
    });
    await onAnotherHost(
      async (other, dataDir) => {
        expect((await read(other, cid)).equals(bytes)).toBe(true);
        expect(await filesOf(join(dataDir, "ipfs", "cache"))).toEqual([]);
      },
      { IPFS_CACHE_BYTES: "0" },
    );
  });

  test.each([
    ["lost", null],
    ["changed", (car: Buffer) => Buffer.concat([car.subarray(0, -10), Buffer.alloc(10, 1)])],
    ["cut", (car: Buffer) => car.subarray(0, -1_000)],
  ] as const)(
    "an object that is %s is not served, is named by the check, and heals when its content comes again",
    async (what, change) => {
      const bytes = Buffer.concat([Buffer.from(what), noise(1_200_000, 7)]);
      const cid = await add(bytes);
      const key = await keyOf(cid);
      if (change)
        await client.send(new PutObjectCommand({ Bucket: "content", Key: key, Body: change(await objectOf(key)) }));
      else await client.send(new DeleteObjectCommand({ Bucket: "content", Key: key }));
      await onAnotherHost(async (other) => {
        await expect(read(other, cid)).rejects.toMatchObject({ code: "service_unavailable" });
        const row = await server.services.db
          .selectFrom("service.car")
          .select(["id", "root", "file", "size"])
          .where("root", "=", cid)
          .executeTakeFirstOrThrow();
        expect(await other.verify(row)).toMatch(/missing|damaged|instead of/);
        expect(await add(bytes, other)).toBe(cid);
        expect(await keyOf(cid)).not.toBe(key);
        expect((await read(other, cid)).equals(bytes)).toBe(true);
      });
    },
  );

  test("a store that goes away at any byte of an upload: 503 with Retry-After, nothing is known of it, and the next try is whole", async () => {
    const form = (seed: number) => {
      const data = new FormData();
      data.append("file", new Blob([new Uint8Array(noise(18_000_000, seed))]), "a.bin");
      return data;
    };
    const post = async (seed: number) => await fetch(`${server.url}/v0/files`, { method: "POST", body: form(seed) });
    const before = proxy.passed;
    expect((await post(1_000)).status).toBe(200);
    const length = proxy.passed - before;
    expect(length).toBeGreaterThan(18_000_000);
    const rows = await server.rows();
    for (const [at, cut] of [0, 300, 5_000, 9_000_000, 17_000_000, length - 900, length - 300].entries()) {
      proxy.cutAfter(cut);
      const answer = await post(2_000 + at).finally(() => proxy.heal());
      expect([cut, answer.status, answer.headers.get("retry-after")]).toEqual([cut, 503, "5"]);
      expect(await server.rows()).toBe(rows);
      expect((await server.files()).filter((name) => name.endsWith(".part"))).toEqual([]);
    }
    // What uploads left is cleared away by the sweep: parts a day later, a whole object that nobody knows a week after its mark.
    const { content, db } = server.services;
    const uploads = async () =>
      (await client.send(new ListMultipartUploadsCommand({ Bucket: "content" }))).Uploads?.length ?? 0;
    await content.sweep(Date.now() + 11 * minute);
    const marked = (await keys("blocks/orphans/")).length;
    await content.sweep(Date.now() + 8 * day);
    expect(await uploads()).toBe(0);
    const cars = await db.selectFrom("service.car").select("file").execute();
    const kept = (await keys("blocks/cars/")).map((key) => key.slice(-40, -4));
    expect({ marked, kept: kept.sort() }).toEqual({ marked, kept: cars.map(({ file }) => file).sort() });
    expect(await keys("blocks/orphans/")).toEqual([]);
    const again = await post(2_003);
    const { ipfs_url: url } = (await again.json()) as { ipfs_url: string };
    expect((await read(content, url.split("/").at(-1) ?? "")).equals(noise(18_000_000, 2_003))).toBe(true);
  });

  test("while the store is away reads that need it are 503 with Retry-After, what is known of it goes on, and it comes back", async () => {
    const bytes = noise(700_000, 90);
    const cid = await add(bytes);
    const healthy = await server.services.content.cars.trouble();
    expect(healthy).toBeNull();
    const url = `${server.url}/ipfs/${cid}`;
    proxy.cutAfter(0);
    try {
      for (let round = 0; round < 5; round += 1) {
        const answer = await fetch(url);
        expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "5"]);
        expect(answer.headers.get("cache-control") ?? "").not.toContain("immutable");
      }
      // Sizes, listings and quotas are rows.
      expect((await fetch(url, { method: "HEAD" })).status).toBeLessThan(504);
      expect((await fetch(`${server.url}/v0/me/storage?type=file`)).status).toBe(200);
      await expect.poll(() => server.services.content.cars.trouble(), patient).toMatch(/does not read/);
    } finally {
      proxy.heal();
    }
    await expect.poll(async () => (await fetch(url)).status, patient).toBe(200);
    expect(Buffer.from(await (await fetch(url)).arrayBuffer()).equals(bytes)).toBe(true);
  });

  test("a store that stands still keeps nobody waiting for ever, and what asks whether all is well does not wait at all", async () => {
    const cid = await add(noise(900_000, 91));
    await onAnotherHost(async (other) => {
      swift.freeze(true);
      try {
        await expect(other.readBlock(cid)).rejects.toMatchObject({ code: "service_unavailable", retryAfterSeconds: 5 });
        expect(await other.cars.trouble()).toMatch(/does not read/);
      } finally {
        swift.freeze(false);
      }
      await expect.poll(async () => await other.readBlock(cid).then(Boolean, () => false), patient).toBe(true);
      await expect.poll(() => other.cars.trouble(), patient).toBeNull();
    });
  });

  test("a sweep marks what no row names, removes it a week later, and leaves all else alone", async () => {
    const { content } = server.services;
    const cid = await add(noise(500, 70));
    const lost = "blocks/cars/ab/ab000000-0000-4000-8000-000000000000.car";
    const foreign = [
      "blocks/cars/ab/notes.txt",
      "blocks/other/ab000000-0000-4000-8000-000000000000.car",
      "elsewhere.car",
    ];
    for (const Key of [lost, ...foreign])
      await client.send(new PutObjectCommand({ Bucket: "content", Key, Body: Buffer.from("x") }));
    await client.send(new CreateMultipartUploadCommand({ Bucket: "content", Key: lost }));
    await content.sweep(Date.now());
    expect(await keys("blocks/orphans/")).toEqual([]);
    await content.sweep(Date.now() + 11 * minute);
    expect(await keys("blocks/orphans/")).toEqual(["blocks/orphans/ab000000-0000-4000-8000-000000000000"]);
    expect(await keys("")).toContain(lost);
    await content.sweep(Date.now() + 6 * day);
    expect(await keys("")).toContain(lost);
    await content.sweep(Date.now() + 8 * day);
    const left = await keys("");
    expect(left).not.toContain(lost);
    expect(left).toEqual(expect.arrayContaining([...foreign, await keyOf(cid)]));
    expect(await keys("blocks/orphans/")).toEqual([]);
    // A copy of the database, made for a trial with the same settings, removes nothing.
    await client.send(new PutObjectCommand({ Bucket: "content", Key: "blocks/owner", Body: "another/database" }));
    await expect(content.sweep(Date.now() + 9 * day)).rejects.toThrow(/belong to database another\/database/);
    await expect(requireUsableStore(content, createLogger("test", "silent"))).rejects.toThrow(
      /^IPFS_STORE: the objects below it belong to database another\/database, .* remove the object "owner"$/,
    );
    await client.send(new DeleteObjectCommand({ Bucket: "content", Key: "blocks/owner" }));
    await content.sweep(Date.now());
  });

  test("each mistake ends the start with one sentence that names its setting; a store that is away does not", async () => {
    const tryOut = async (more: Record<string, string>) => {
      const store = openContentStore(configOf(temporaryFolder(), more), server.services.db);
      try {
        return await requireUsableStore(store, createLogger("test", "silent")).then(
          () => "usable",
          (error: Error) => `${error.name}: ${error.message}`,
        );
      } finally {
        await store.close();
      }
    };
    expect(await tryOut({})).toBe("usable");
    expect(await tryOut({ AWS_ENDPOINT_URL_S3: "http://store.invalid" })).toBe(
      "ConfigError: AWS_ENDPOINT_URL_S3: there is no host store.invalid",
    );
    expect(await tryOut({ AWS_SECRET_ACCESS_KEY: "wrong" })).toMatch(
      /^ConfigError: AWS_SECRET_ACCESS_KEY: \S+ refuses the signature; it does not fit AWS_ACCESS_KEY_ID$/,
    );
    expect(await tryOut({ IPFS_STORE: "s3://nothing-here" })).toMatch(
      /^ConfigError: IPFS_STORE: there is no bucket nothing-here at /,
    );
    expect(await tryOut({ AWS_REGION: "eu-central-1" })).toMatch(
      /^ConfigError: AWS_REGION: the bucket content is not in/,
    );
    const { accessKeyId, secretAccessKey } = stranger;
    expect(await tryOut({ AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey })).toMatch(
      /^ConfigError: IPFS_STORE: the key of AWS_ACCESS_KEY_ID has no right to write s3:\/\/content\/blocks\/; give it one$/,
    );
    expect(await tryOut({ AWS_ENDPOINT_URL_S3: "http://127.0.0.1:9" })).toBe("usable");
    expect(await keys("blocks/probe/")).toEqual([]);
  });

  test("backups take the CARs out of S3, and bring them back into a folder or another prefix", async () => {
    const bytes = noise(1_500_000, 80);
    const cid = await add(bytes);
    const folder = join(temporaryFolder(), "backup");
    const cars = openCars(server.services.config);
    await takeBackup(server.services.config.databaseUrl, cars, folder);
    cars.close();
    for (const more of [{ IPFS_STORE: "" }, { IPFS_STORE: "s3://content/restored" }]) {
      const config = configOf(temporaryFolder(), more);
      const target = openCars(config);
      await mkdir(join(config.dataDir, "ipfs"), { recursive: true });
      await target.copyIn(join(folder, "ipfs"));
      target.close();
      const store = openContentStore(config, server.services.db);
      expect((await read(store, cid)).equals(bytes)).toBe(true);
      await store.close();
    }
  });

  test("a CAR is lent to a pinning service as a copy that goes afterwards, and is exported block by block", async () => {
    const cid = await add(noise(2_000_000, 81));
    const key = await keyOf(cid);
    await onAnotherHost(async (other, dataDir) => {
      const bytes = await other.withCar(key.slice(-40, -4), async (car) => Buffer.from(await car.arrayBuffer()));
      expect(bytes.equals(await objectOf(key))).toBe(true);
      expect(await readdir(join(dataDir, "ipfs", "incoming"))).toEqual([]);
      const exported = await other.exportCar(cid, [], { scope: "all" });
      if (!exported || exported === "outside") throw new Error("nothing was exported");
      const path = join(dataDir, "out.car");
      await writeFile(path, exported);
      const reader = await CarReader.fromIterable(createReadStream(path));
      expect((await reader.getRoots()).map(String)).toEqual([cid]);
      expect((await readFile(path)).length).toBeGreaterThan(2_000_000);
    });
  });
});

async function filesOf(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

async function sizeOf(folder: string): Promise<number> {
  const sizes = (await filesOf(folder)).map(async (path) => (await stat(path).catch(() => null))?.size ?? 0);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

async function* chunks(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}

async function gather(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts);
}

/** Bytes that do not repeat, the same in every run. */
function noise(length: number, seed: number): Buffer {
  const bytes = Buffer.alloc(length);
  const random = new SeededGenerator(seed);
  for (let at = 0; at + 4 <= length; at += 4) bytes.writeUInt32LE(random.below(2 ** 32), at);
  return bytes;
}
