import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { connect } from "node:net";
import { CarReader } from "@ipld/car/reader";
import { CarWriter } from "@ipld/car/writer";
import * as dagPb from "@ipld/dag-pb";
import { UnixFS } from "ipfs-unixfs";
import { CID } from "multiformats/cid";
import { sha256 } from "multiformats/hashes/sha2";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { ipfsDir } from "../../src/config/config.ts";
import { carPath } from "../../src/ipfs/local-cars.ts";
import { ApiServer } from "../setup/api-server.ts";
import { patient } from "../setup/wait.ts";
import { form } from "../uploads/upload-server.ts";

const megabyte = 1_048_576;
let server: ApiServer;
let key: string;
/** Four blocks, the third of which is damaged on disk. */
let damaged: string;
const size = 4 * megabyte;
const sound = { offset: 100, length: 1_000 };
const broken = { offset: 2 * megabyte + 10, length: 20 };

beforeAll(async () => {
  server = await ApiServer.start();
  key = (await server.account()).key;
  damaged = await upload(Array.from({ length: 4 }, (_, block) => String(block).repeat(megabyte)).join(""));
  await damage(damaged, "22222222");
});
afterAll(() => server.close());

async function upload(text: string): Promise<string> {
  const body = form("file", [{ filename: "a.txt", text, type: "text/plain" }]);
  const answer = await fetch(`${server.url}/v0/files`, { method: "POST", headers: { Authorization: key }, body });
  return ((await answer.json()) as { ipfs_url: string }).ipfs_url.replace("https://ipfs.io/ipfs/", "");
}

/** Changes one byte of the stored CAR, where `text` first stands in it. */
async function damage(root: string, text: string): Promise<void> {
  const { file } = await server.services.db
    .selectFrom("service.car")
    .select("file")
    .where("root", "=", root)
    .executeTakeFirstOrThrow();
  const path = carPath(ipfsDir(server.services.config), file);
  const bytes = await readFile(path);
  const at = bytes.indexOf(text) + 1_000;
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  await writeFile(path, bytes);
}

/** The bytes of an answer as they came, up to the end of the connection or `idleMs` without any. */
async function raw(path: string, headers: string[], idleMs = 2_000): Promise<{ text: string; ended: boolean }> {
  const socket = connect(server.port, "127.0.0.1");
  const chunks: Buffer[] = [];
  let ended = false;
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  socket.on("error", () => undefined);
  socket.on("close", () => {
    ended = true;
  });
  socket.write(`${[`GET ${path} HTTP/1.1`, "Host: localhost", ...headers].join("\r\n")}\r\n\r\n`);
  socket.setTimeout(idleMs);
  await Promise.race([once(socket, "close"), once(socket, "timeout")]);
  const result = { text: Buffer.concat(chunks).toString("latin1"), ended };
  socket.destroy();
  return result;
}

const rangeOf = ({ offset, length }: { offset: number; length: number }) => `bytes=${offset}-${offset + length - 1}`;

test("a part that cannot be read is an error with the headers of an error, and its whole body", async () => {
  for (const headers of [{ Range: rangeOf(broken) }, { Range: `bytes=${2 * megabyte}-` }]) {
    const answer = await fetch(`${server.url}/ipfs/${damaged}`, { headers });
    expect([answer.status, answer.headers.get("cache-control")]).toEqual([503, "no-store"]);
    for (const name of ["etag", "content-range", "accept-ranges", "content-disposition"]) {
      expect([name, answer.headers.get(name)]).toEqual([name, null]);
    }
    const text = await answer.text();
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(answer.headers.get("content-length") ?? String(text.length)).toBe(String(text.length));
    expect(JSON.parse(text)).toMatchObject({ response: "NOK", error: { code: "service_unavailable" } });
  }
  const fine = await fetch(`${server.url}/ipfs/${damaged}`, { headers: { Range: rangeOf(sound) } });
  expect([fine.status, (await fine.text()).length]).toEqual([206, sound.length]);
});

test("the connection goes on after such an error: the next answer is where a client looks for it", async () => {
  const socket = connect(server.port, "127.0.0.1");
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  const ask = (path: string, ...headers: string[]) =>
    `${[`GET ${path} HTTP/1.1`, "Host: localhost", ...headers].join("\r\n")}\r\n\r\n`;
  socket.write(ask(`/ipfs/${damaged}`, `Range: ${rangeOf(broken)}`) + ask("/livez", "Connection: close"));
  await once(socket, "close");
  const text = Buffer.concat(chunks).toString("latin1");
  const [, first = "", second] = text.split("HTTP/1.1 ");
  expect([first.slice(0, 3), second?.slice(0, 3)]).toEqual(["503", "200"]);
  const [head = "", body = ""] = first.split("\r\n\r\n");
  expect(/content-length: (\d+)/i.exec(head)?.[1]).toBe(String(body.length));
});

test("a failure after the first byte ends the connection, so that no reader takes a part for the whole", async () => {
  const whole = await raw(`/ipfs/${damaged}`, []);
  expect(whole.text).toMatch(/^HTTP\/1\.1 200 /);
  expect(whole.ended).toBe(true);
  expect(whole.text.length).toBeLessThan(size);
  expect(whole.text).not.toContain("service_unavailable");

  // Chunked: its last chunk would say that this is all.
  const car = await raw(`/ipfs/${damaged}?format=car`, []);
  expect([car.ended, car.text.endsWith("0\r\n\r\n")]).toEqual([true, false]);
  const failed = await new Promise<boolean>((done) => {
    const call = request(`${server.url}/ipfs/${damaged}`, (answer) => {
      answer.resume();
      answer.on("end", () => done(false));
      answer.on("error", () => done(true));
    });
    call.on("error", () => done(true));
    call.end();
  });
  expect(failed).toBe(true);
});

test("a client that hangs up within an answer is no fault of the content", async () => {
  const logged = vi.spyOn(server.services.logOnce, "write");
  const large = await upload("large ".repeat(2 * megabyte));
  for (const query of ["", "?format=car", ""]) {
    const socket = connect(server.port, "127.0.0.1");
    socket.write(`GET /ipfs/${large}${query} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await once(socket, "data");
    socket.destroy();
  }
  // What is said of content that cannot be read comes after whatever would have been said of those.
  await raw(`/ipfs/${damaged}`, []);
  await vi.waitFor(() => expect(logged).toHaveBeenCalled(), { timeout: patient.timeout });
  expect(logged.mock.calls.map(([level, what]) => `${level} ${what}`)).toEqual(["error broke off service_unavailable"]);
  logged.mockRestore();
});

/** A file of two equal halves, of which each is two equal halves, up to `size` bytes: few blocks, linked again and again. */
async function storeHalves(size: number, ...leaves: readonly [Buffer, Buffer]): Promise<CID> {
  const blocks = new Map<string, { cid: CID; bytes: Uint8Array }>();
  const add = async (codec: number, bytes: Uint8Array) => {
    const cid = CID.createV1(codec, await sha256.digest(bytes));
    blocks.set(`${cid}`, { cid, bytes });
    return cid;
  };
  const join = async (halves: readonly CID[], half: number) => {
    const blockSizes = halves.map(() => BigInt(half));
    const links = halves.map((Hash) => ({ Hash, Tsize: half, Name: "" }));
    return await add(
      dagPb.code,
      dagPb.encode({ Data: new UnixFS({ type: "file", blockSizes }).marshal(), Links: links }),
    );
  };
  const pair = await Promise.all(leaves.map((bytes) => add(0x55, bytes)));
  let half = leaves[0].length;
  let cid = await join(pair, half);
  for (half *= 2; half < size; half *= 2) cid = await join([cid, cid], half);
  const { writer, out } = CarWriter.create([cid]);
  const writing = (async () => {
    for (const block of blocks.values()) await writer.put(block);
    await writer.close();
  })();
  await server.services.content.importCar(out);
  await writing;
  return cid;
}

async function blocksOf(cid: CID, query: string): Promise<number> {
  const answer = await fetch(`${server.url}/ipfs/${cid}?format=car${query}`);
  const reader = await CarReader.fromBytes(new Uint8Array(await answer.arrayBuffer()));
  const found: CID[] = [];
  for await (const one of reader.cids()) found.push(one);
  return found.length;
}

test("a CAR whose blocks are linked again and again ends, with repeats and without", async () => {
  const leaf = Buffer.from("ha");
  // In 29 blocks.
  const cid = await storeHalves(2 ** 29, leaf, leaf);
  expect(await blocksOf(cid, "")).toBe(29);
  expect(await blocksOf(cid, `&entity-bytes=1:${2 ** 29 - 2}`)).toBe(29);
  expect(await blocksOf(cid, "&entity-bytes=5:5")).toBe(29);
  // The whole walk would meet five hundred million blocks.
  const cut = await raw(`/ipfs/${cid}?format=car&car-dups=y`, []);
  expect(cut.text).toMatch(/^HTTP\/1\.1 200 /);
  expect([cut.ended, cut.text.endsWith("0\r\n\r\n")]).toEqual([true, false]);
  expect(cut.text.length).toBeLessThan(8 * megabyte);
  expect(await blocksOf(cid, "&car-dups=y&entity-bytes=0:1023")).toBe(18 + 1 + 2 ** 10 - 1);
});

test("a block of which a range needs one part here and another there comes with both", async () => {
  const cid = await storeHalves(8, Buffer.from("aa"), Buffer.from("bb"));
  // aabb aabb: the end of the first half and the beginning of the second.
  expect(await blocksOf(cid, "&entity-bytes=2:5")).toBe(4);
  expect(await blocksOf(cid, "&entity-bytes=2:3")).toBe(3);
  // A part of the first half and all of the second.
  expect(await blocksOf(cid, "&entity-bytes=2:*")).toBe(4);
  expect(await blocksOf(cid, "&car-dups=y&entity-bytes=2:5")).toBe(5);
});

test("what takes the processor to convert is refused, and a document that is none is no fault of the server", async () => {
  const { content } = server.services;
  const store = async (text: string) => {
    async function* stream() {
      yield Buffer.from(text);
    }
    await content.addFile({ stream: stream() }, async () => undefined);
    return `${CID.createV1(0x0129, await sha256.digest(Buffer.from(text)))}`;
  };
  const nested = await store(`${"[".repeat(100_000)}${"]".repeat(100_000)}`);
  const large = await store(JSON.stringify("x".repeat(270_000)));
  const broken = await store('{"name": ');
  for (const [cid, query, status] of [
    [nested, "?format=dag-cbor", 400],
    [nested, "/0/0", 404],
    [nested, "?format=car", 200],
    [large, "?format=dag-cbor", 406],
    [large, "/0", 404],
    [large, "", 200],
    [broken, "?format=dag-json", 400],
    [broken, "?format=raw", 200],
  ] as const) {
    const answer = await fetch(`${server.url}/ipfs/${cid}${query}`);
    await answer.arrayBuffer();
    expect([query, answer.status]).toEqual([query, status]);
  }
});

test("below a file there is nothing, however the file was found", async () => {
  const { services } = server;
  const large = "x".repeat(3 * megabyte);
  async function* files() {
    yield { names: ["large.txt"], bytes: Buffer.from(large), contentType: "text/plain" };
    yield { names: ["small.txt"], bytes: Buffer.from("small"), contentType: "text/plain" };
  }
  const root = await services.content.addDirectory(files(), async (_transaction, { cid }) => cid);
  const entry = async (name: string) => {
    const found = await services.content.resolve(root, [name]);
    return found?.cid ?? "";
  };
  const inner = [await entry("large.txt"), await entry("small.txt")];
  const places = [damaged, ...inner, `${root}/large.txt`, `${root}/small.txt`];
  // The same tree as one that came as a CAR: its files are found by their blocks.
  await services.db.updateTable("service.car").set({ listed: false }).where("root", "=", root).execute();
  await services.db
    .deleteFrom("service.content_entry")
    .where("car_id", "=", services.db.selectFrom("service.car").select("id").where("root", "=", root))
    .execute();
  for (const place of places) {
    for (const below of ["0", "below", "below/deeper", "index.html", "Links/0/Hash", "Data"]) {
      for (const query of ["", "?format=raw", "?format=car"]) {
        const answer = await fetch(`${server.url}/ipfs/${place}/${below}${query}`);
        await answer.body?.cancel();
        expect([`${place}/${below}${query}`, answer.status]).toEqual([`${place}/${below}${query}`, 404]);
      }
    }
  }
});
