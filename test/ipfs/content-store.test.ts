import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, readdir, readFile, truncate, unlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CarReader } from "@ipld/car/reader";
import { exporter } from "ipfs-unixfs-exporter";
import { importer } from "ipfs-unixfs-importer";
import { CID } from "multiformats/cid";
import { sha256 } from "multiformats/hashes/sha2";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openContentStore } from "../../src/ipfs/content-store.ts";
import { carPath } from "../../src/ipfs/local-cars.ts";
import { readFileBytes } from "../../src/ipfs/resolve-content.ts";
import { abandonedAfterMs, sweepRegularly } from "../../src/ipfs/sweep-parts.ts";
import { SeededGenerator } from "../setup/seeded-generator.ts";
import { patient } from "../setup/wait.ts";
import { startUploadServer, type UploadServer } from "../uploads/upload-server.ts";

let server: UploadServer;
beforeAll(async () => {
  server = await startUploadServer();
});
afterAll(() => server.close());

const store = () => server.services.content;
const ipfsFolder = () => join(server.services.config.dataDir, "ipfs");
const noRecord = async (_transaction: unknown, content: { cid: string }) => content.cid;

async function* chunks(bytes: Uint8Array, size = 65_536): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Bytes that do not repeat, the same in every run. */
function noise(length: number, seed: number): Buffer {
  const bytes = Buffer.alloc(length);
  const random = new SeededGenerator(seed);
  for (let at = 0; at < length; at += 4) bytes.writeUInt32LE(random.below(2 ** 32), Math.min(at, length - 4));
  return bytes;
}

const addBytes = (bytes: Uint8Array) => store().addFile({ stream: chunks(bytes) }, noRecord);

async function readAll(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts);
}

async function carOf(cid: string): Promise<string> {
  const { file } = await server.services.db
    .selectFrom("service.car")
    .select("file")
    .where("root", "=", cid)
    .executeTakeFirstOrThrow();
  return carPath(ipfsFolder(), file);
}

test("a CAR is complete and correct for other readers: root, hashes, file", async () => {
  const bytes = noise(2_500_001, 1);
  const cid = await addBytes(bytes);
  const reader = await CarReader.fromIterable(createReadStream(await carOf(cid)));
  expect((await reader.getRoots()).map(String)).toEqual([cid]);
  const blocks = new Map<string, Uint8Array>();
  for await (const block of reader.blocks()) {
    expect((await sha256.digest(block.bytes)).bytes).toEqual(block.cid.multihash.bytes);
    blocks.set(block.cid.toString(), block.bytes);
  }
  const node = await exporter(CID.parse(cid), {
    async *get(key: CID) {
      yield blocks.get(key.toString()) ?? new Uint8Array();
    },
  });
  expect(node.type === "file" && (await readAll(node.content())).equals(bytes)).toBe(true);
});

test("the profile is IPIP-499's unixfs-v1-2025: raw up to 1 MiB, then chunks of it", async () => {
  const exact = noise(1_048_576, 2);
  const raw = CID.createV1(0x55, await sha256.digest(exact));
  expect(await addBytes(exact)).toBe(raw.toString());

  const more = noise(1_048_577, 3);
  const sink = { put: async (cid: CID) => cid };
  let expected = "";
  for await (const { cid } of importer([{ content: more }], sink, { profile: "unixfs-v1-2025" }))
    expected = String(cid);
  expect(await addBytes(more)).toBe(expected);
});

test("ranges of a file of several blocks are the file's bytes, at every edge", async () => {
  const bytes = noise(2_200_000, 4);
  const file = await store().resolve(await addBytes(bytes), []);
  if (file?.kind !== "file") throw new Error("no file");
  for (const [offset, length] of [
    [0, 1],
    [1_048_575, 2],
    [1_048_576, 1_048_576],
    [2_199_999, 1],
    [5, 2_100_000],
  ] as const) {
    expect((await readAll(file.stream({ offset, length }))).equals(bytes.subarray(offset, offset + length))).toBe(true);
  }
});

test("a file is read as fast as it is taken: two blocks are in memory, however large it is", async () => {
  const bytes = noise(20_500_000, 8);
  const cid = CID.parse(await addBytes(bytes));
  let reads = 0;
  const source = {
    get: async (wanted: CID) => {
      if (wanted.code === 0x55) reads += 1;
      return await store().readBlock(wanted.toString());
    },
  };
  const taken: Uint8Array[] = [];
  for await (const chunk of readFileBytes(source, cid, 0, bytes.length)) {
    taken.push(chunk);
    // What would be read ahead is read in that time.
    await sleep(20);
    expect(reads).toBeLessThanOrEqual(taken.length + 1);
  }
  expect(Buffer.concat(taken).equals(bytes)).toBe(true);
});

test("a directory of 5,000 files is sharded, and each name is found by the table and by a walk", async () => {
  async function* files() {
    for (let id = 0; id < 5_000; id++) {
      const bytes = Buffer.from(`{"id":${id}}`);
      yield { names: [`${id}`, `${id}.json`], bytes, contentType: "application/json" };
    }
  }
  const cid = await store().addDirectory(files(), noRecord);
  const file = await store().resolve(cid, ["4321"]);
  expect(file?.kind === "file" && (await readAll(file.stream())).toString()).toBe('{"id":4321}');
  expect(await store().resolve(cid, ["5000"])).toBeNull();

  const storage = {
    async *get(key: CID) {
      yield (await store().readBlock(key.toString())) ?? new Uint8Array();
    },
  };
  const root = await exporter(CID.parse(cid), storage);
  expect(root.type === "directory" && root.unixfs.type).toBe("hamt-sharded-directory");
  const names: string[] = [];
  if (root.type === "directory") for await (const { name } of root.entries()) names.push(name);
  const listed = await store().resolve(cid, []);
  const entries = listed?.kind === "directory" ? await listed.entries() : [];
  expect(entries.map(({ name }) => name)).toEqual(names.sort());
  expect(entries.length).toBe(10_000);
});

test("an unknown CID, a text that is none and a path below a file are not found", async () => {
  const cid = await addBytes(Buffer.from("leaf"));
  expect(await store().resolve(cid, ["below"])).toBeNull();
  expect(await store().resolve("bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy", [])).toBeNull();
  expect(await store().resolve("../../etc/passwd", [])).toBeNull();
});

test("when the record fails, neither rows nor files stay", async () => {
  const before = [await server.rows(), (await server.files()).length];
  const failing = store().addFile({ stream: chunks(Buffer.from("x".repeat(100))) }, async () => {
    throw new Error("no room in the table");
  });
  await expect(failing).rejects.toThrow("no room in the table");
  expect([await server.rows(), (await server.files()).length]).toEqual(before);
});

test("a lost CAR is replaced when its content comes again", async () => {
  const bytes = noise(1_500_000, 5);
  const cid = await addBytes(bytes);
  await unlink(await carOf(cid));
  const lost = await store().resolve(cid, []);
  if (lost?.kind !== "file") throw new Error("no file");
  // A store of its own: the first one may still hold the deleted file open.
  const other = openContentStore(server.services.config, server.services.db);
  const again = await other.resolve(cid, []);
  await expect(readAll(again?.kind === "file" ? again.stream() : chunks(bytes))).rejects.toMatchObject({
    code: "service_unavailable",
  });
  expect(await addBytes(bytes)).toBe(cid);
  const file = await other.resolve(cid, []);
  expect(file?.kind === "file" && (await readAll(file.stream())).equals(bytes)).toBe(true);
  await other.close();
});

test("damaged bytes are never served", async () => {
  const cid = await addBytes(noise(5_000, 6));
  const path = await carOf(cid);
  const car = await readFile(path);
  car[car.length - 10] = (car[car.length - 10] ?? 0) ^ 1;
  await writeFile(path, car);
  const file = await store().resolve(cid, []);
  await expect(readAll(file?.kind === "file" ? file.stream() : chunks(car))).rejects.toMatchObject({
    code: "service_unavailable",
  });
  await truncate(path, 50);
  await expect(store().readBlock(cid)).rejects.toMatchObject({ code: "service_unavailable" });
});

test("the bytes tell the type before the sender does", async () => {
  const png = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), noise(100, 7)]);
  const cid = await store().addFile({ stream: chunks(png, 3) }, noRecord);
  expect(await store().resolve(cid, [])).toMatchObject({ contentType: "image/png" });
});

test("parts of dead processes are swept at the first upload, fresh ones stay", async () => {
  const incoming = join(ipfsFolder(), "incoming");
  await mkdir(incoming, { recursive: true });
  const [old, fresh] = [join(incoming, `${randomUUID()}.part`), join(incoming, `${randomUUID()}.part`)];
  await Promise.all([writeFile(old, "x"), writeFile(fresh, "x")]);
  const then = (Date.now() - abandonedAfterMs - 1_000) / 1_000;
  await utimes(old, then, then);
  const other = openContentStore(server.services.config, server.services.db);
  await other.addFile({ stream: chunks(Buffer.from("sweeper")) }, noRecord);
  await other.close();
  expect(await readdir(incoming)).toEqual([fresh.slice(incoming.length + 1)]);
});

/** Changes one byte of a stored CAR. */
async function damage(cid: string, at: (car: Buffer) => number): Promise<void> {
  const path = await carOf(cid);
  const car = await readFile(path);
  const place = at(car);
  car[place] = (car[place] ?? 0) ^ 1;
  await writeFile(path, car);
}

test.each([
  ["a block", (car: Buffer) => car.length - 10],
  ["the length before a block", () => 59],
  ["the root in the header", () => 30],
])("content whose CAR is damaged in %s heals when it comes again", async (_what, at) => {
  const bytes = noise(1_300_000, 20);
  const cid = await addBytes(bytes);
  const before = await carOf(cid);
  await damage(cid, at);
  await server.services.db.updateTable("service.car").set({ damage: "seen" }).where("root", "=", cid).execute();
  expect(await addBytes(bytes)).toBe(cid);
  const after = await carOf(cid);
  expect(after).not.toBe(before);
  // Another reader's check of the file that is named now, block by block.
  const reader = await CarReader.fromIterable(createReadStream(after));
  expect((await reader.getRoots()).map(String)).toEqual([cid]);
  for await (const block of reader.blocks()) {
    expect((await sha256.digest(block.bytes)).bytes).toEqual(block.cid.multihash.bytes);
  }
  const file = await store().resolve(cid, []);
  expect(file?.kind === "file" && (await readAll(file.stream())).equals(bytes)).toBe(true);
  const { damage: recorded } = await server.services.db
    .selectFrom("service.car")
    .select("damage")
    .where("root", "=", cid)
    .executeTakeFirstOrThrow();
  expect(recorded).toBeNull();
  // What is whole stays, and the copy goes.
  expect(await addBytes(bytes)).toBe(cid);
  expect(await carOf(cid)).toBe(after);
});

test("what broken uploads left while the process ran is swept too", async () => {
  const incoming = join(ipfsFolder(), "incoming");
  await mkdir(incoming, { recursive: true });
  const end = sweepRegularly(store(), server.services.log, 20);
  try {
    const part = join(incoming, `${randomUUID()}.part`);
    // Some sweeps go by before there is anything.
    await sleep(60);
    await writeFile(part, "x");
    const then = (Date.now() - abandonedAfterMs - 1_000) / 1_000;
    await utimes(part, then, then);
    await expect.poll(() => readdir(incoming), patient).not.toContain(part.slice(incoming.length + 1));
  } finally {
    end();
  }
});
