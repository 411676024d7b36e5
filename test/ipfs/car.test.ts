import { execFile } from "node:child_process";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { CarReader } from "@ipld/car/reader";
import { CarWriter } from "@ipld/car/writer";
import { importer } from "ipfs-unixfs-importer";
import { CID } from "multiformats/cid";
import { sha256 } from "multiformats/hashes/sha2";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bareEnvironment } from "../setup/bare-environment.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { slowness } from "../setup/wait.ts";
import { startUploadServer, type UploadServer } from "../uploads/upload-server.ts";

// Content comes and goes as CAR files, made and read here by the reference library.
let server: UploadServer;
const folder = temporaryFolder();
beforeAll(async () => {
  server = await startUploadServer();
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

interface Block {
  cid: CID;
  bytes: Uint8Array;
}

/** A tree as `ipfs add -r --cid-version=1` makes it: folders in folders, chunks of 256 KiB. */
async function tree(files: Record<string, Uint8Array>): Promise<{ root: CID; blocks: Block[] }> {
  const blocks: Block[] = [];
  const put = async (cid: CID, bytes: unknown) => {
    blocks.push({ cid, bytes: bytes as Uint8Array });
    return cid;
  };
  const source = Object.entries(files).map(([path, content]) => ({ path: `all/${path}`, content }));
  let root: CID | undefined;
  for await (const { cid } of importer(source, { put }, { cidVersion: 1, rawLeaves: true })) root = cid;
  if (!root) throw new Error("no root");
  return { root, blocks };
}

async function carOf(roots: CID[], blocks: readonly Block[]): Promise<Buffer> {
  const { writer, out } = CarWriter.create(roots);
  const pieces: Uint8Array[] = [];
  const reading = (async () => {
    for await (const piece of out) pieces.push(piece);
  })();
  for (const block of blocks) await writer.put(block);
  await writer.close();
  await reading;
  return Buffer.concat(pieces);
}

async function* chunks(bytes: Uint8Array, size = 10_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const text = (value: string) => new TextEncoder().encode(value);
const large = Uint8Array.from({ length: 700_000 }, (_, at) => (at * 7919 + (at >> 8) + (at >> 16) * 31) & 0xff);

async function command(...args: string[]) {
  const { config } = server.services;
  const env = {
    ...bareEnvironment,
    DATABASE_URL: config.databaseUrl,
    MINTYARD_DATA_DIR: config.dataDir,
    LOG_LEVEL: "silent",
  };
  return await promisify(execFile)(process.execPath, ["bin/mintyard.ts", ...args], { env, encoding: "buffer" });
}

test("mintyard import and export: a tree of folders is served and comes back block for block", {
  timeout: 300_000 * slowness,
}, async () => {
  const { root, blocks } = await tree({ "a/b/deep.txt": text("deep"), "large.bin": large, "0.json": text("{}") });
  const file = join(folder, "tree.car");
  await writeFile(file, await carOf([root], blocks));
  const { stdout } = await command("import", file);
  expect(JSON.parse(stdout.toString())).toEqual({ import: file, cid: root.toString(), blocks: blocks.length });

  const at = `${server.url}/ipfs/${root}`;
  expect(await (await fetch(`${at}/a/b/deep.txt`)).text()).toBe("deep");
  expect(Buffer.from(await (await fetch(`${at}/large.bin`)).arrayBuffer()).equals(large)).toBe(true);
  const part = await fetch(`${at}/large.bin`, { headers: { Range: "bytes=262000-263000" } });
  expect(Buffer.from(await part.arrayBuffer()).equals(large.subarray(262_000, 263_001))).toBe(true);
  expect(await (await fetch(`${at}/a`)).text()).toContain("b");
  expect((await fetch(`${at}/nothing`)).status).toBe(404);

  const back = join(folder, "back.car");
  await command("export", root.toString(), back);
  const reader = await CarReader.fromBytes(await readFile(back));
  expect((await reader.getRoots()).map(String)).toEqual([root.toString()]);
  const found = new Map<string, Buffer>();
  for await (const { cid, bytes } of reader.blocks()) found.set(cid.toString(), Buffer.from(bytes));
  expect(found).toEqual(new Map(blocks.map(({ cid, bytes }) => [cid.toString(), Buffer.from(bytes)])));
  await expect(command("export", "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy")).rejects.toThrow(
    /not stored here/,
  );
});

test("a CAR with anything wrong is refused whole: no file, no row, nothing readable", async () => {
  const { root, blocks } = await tree({ "one.txt": text("one fault"), "two.bin": large });
  const whole = await carOf([root], blocks);
  const damaged = Buffer.from(whole);
  damaged[whole.length - 50] = (damaged[whole.length - 50] ?? 0) ^ 1;
  const cbor = CID.createV1(0x71, await sha256.digest(text("\xa0")));
  const cases: [what: string, car: Buffer, message: RegExp][] = [
    ["a block that is not what it says", damaged, /not what it says|damaged/],
    ["an end in the middle of a block", whole.subarray(0, -100), /damaged or breaks off/],
    ["a tree with a block missing", await carOf([root], blocks.slice(1)), /not whole/],
    ["a root that is not in it", await carOf([cbor], blocks), /not whole/],
    ["two roots", await carOf([root, root], blocks), /2 roots/],
    ["no root", await carOf([], blocks), /0 roots/],
    ["blocks that are no files", await carOf([cbor], [{ cid: cbor, bytes: text("\xa0") }]), /damaged|codec/],
    ["no CAR", Buffer.from("{}".repeat(1_000)), /no CAR file/],
    ["nothing", Buffer.alloc(0), /no CAR file/],
  ];
  const before = [await server.rows(), (await server.files()).length];
  for (const [what, car, message] of cases) {
    const fault = await server.services.content.importCar(chunks(car)).catch((error: unknown) => error);
    expect({ what, fault }).toMatchObject({
      what,
      fault: { code: "value_error", message: expect.stringMatching(message) },
    });
  }
  expect([await server.rows(), (await server.files()).length]).toEqual(before);
  expect((await fetch(`${server.url}/ipfs/${root}/one.txt`)).status).toBe(404);
});

test("the gateway gives CARs by the rules of trustless gateways", async () => {
  const { root, blocks } = await tree({ "dir/x.bin": large, "dir/y.txt": text("y"), "other.txt": text("other") });
  await server.services.content.importCar(chunks(await carOf([root], blocks)));
  const get = async (path: string, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${server.url}/ipfs/${root}${path}`, { headers });
    const reader = answer.status === 200 ? await CarReader.fromBytes(new Uint8Array(await answer.arrayBuffer())) : null;
    const cids: string[] = [];
    if (reader)
      for await (const { cid, bytes } of reader.blocks()) {
        expect((await sha256.digest(bytes)).bytes).toEqual(cid.multihash.bytes);
        cids.push(cid.toString());
      }
    return { status: answer.status, headers: answer.headers, roots: (await reader?.getRoots())?.map(String), cids };
  };
  const all = await get("?format=car");
  expect(all.headers.get("content-type")).toBe("application/vnd.ipld.car; version=1; order=dfs; dups=n");
  expect(all.headers.get("content-disposition")).toContain("attachment");
  expect(all.headers.get("x-content-type-options")).toBe("nosniff");
  expect(all.roots).toEqual([root.toString()]);
  expect(all.cids[0]).toBe(root.toString());
  expect(new Set(all.cids)).toEqual(new Set(blocks.map(({ cid }) => cid.toString())));

  // Root, folder, and the file's four blocks: not the neighbours.
  const file = await get("/dir/x.bin", { Accept: "application/vnd.ipld.car;version=1" });
  expect(file.cids).toHaveLength(6);
  expect(file.headers.get("etag")).not.toBe(all.headers.get("etag"));
  expect((await get("/dir/x.bin?format=car&dag-scope=block")).cids).toHaveLength(3);
  expect((await get("/dir?format=car&dag-scope=entity")).cids).toHaveLength(2);
  expect((await get("/dir/x.bin?format=car&dag-scope=entity")).cids).toHaveLength(6);
  expect((await get("/dir/none?format=car")).status).toBe(404);
  expect((await get("?format=car&dag-scope=most")).status).toBe(400);
  const again = { "If-None-Match": all.headers.get("etag") ?? "" };
  expect((await fetch(`${server.url}/ipfs/${root}?format=car`, { headers: again })).status).toBe(304);
  expect(
    (await readdir(server.services.config.dataDir, { recursive: true })).some((name) => name.endsWith(".part")),
  ).toBe(false);
});
