import { createHash } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { importDirectory, importFile } from "../../src/ipfs/import-content.ts";
import { form, startUploadServer, type UploadServer } from "../uploads/upload-server.ts";

// A gateway of somebody else, and ours in front of it: unknown CIDs are fetched block by block and checked.
let remote: Server;
let remoteUrl: string;
let server: UploadServer;
const blocks = new Map<string, Uint8Array>();
let asked: string[] = [];
/** What the gateway does with a CID instead of giving the block. */
const mischief = new Map<string, "wrong bytes" | "redirect inside" | "endless">();

beforeAll(async () => {
  remote = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://x");
    const cid = pathname.split("/").at(-1) ?? "";
    asked.push(`${cid}?${searchParams}`);
    const block = blocks.get(cid);
    const trick = mischief.get(cid);
    if (trick === "redirect inside") return void response.writeHead(302, { Location: "http://127.0.0.1:9/" }).end();
    if (trick === "endless") {
      const timer = setInterval(() => response.write(Buffer.alloc(1_048_576)), 1);
      return void response.once("close", () => clearInterval(timer));
    }
    if (!block) return void response.writeHead(404).end();
    response.writeHead(200).end(trick === "wrong bytes" ? Buffer.from(block).fill(1) : block);
  });
  await new Promise<void>((ready) => remote.listen(0, "127.0.0.1", ready));
  remoteUrl = `http://127.0.0.1:${(remote.address() as AddressInfo).port}/ipfs`;
  server = await startUploadServer({
    IPFS_FETCH_GATEWAYS: remoteUrl,
    IPFS_GATEWAY_FETCH: "on",
    MAX_FILE_BYTES: "6000000",
  });
});
afterAll(async () => {
  await server?.close();
  remote.closeAllConnections();
  await new Promise((done) => remote.close(done));
});

const store = {
  put: async (cid: { toString(): string }, bytes: unknown) => {
    blocks.set(String(cid), bytes as Uint8Array);
    return cid as never;
  },
};
const bytesOf = (size: number, seed: string) =>
  Buffer.concat(
    Array.from({ length: Math.ceil(size / 32) }, (_, index) =>
      createHash("sha256").update(`${seed} ${index}`).digest(),
    ),
  ).subarray(0, size);
async function file(bytes: Uint8Array): Promise<string> {
  async function* stream() {
    yield bytes;
  }
  return String((await importFile({ stream: stream() }, store)).root);
}
const get = (path: string, headers: Record<string, string> = {}) => fetch(`${server.url}/ipfs/${path}`, { headers });

test("an unknown file comes from the gateway, whole and in ranges, checked, and nothing of it is stored", async () => {
  const bytes = bytesOf(3_000_000, "large");
  const cid = await file(bytes);
  const answer = await get(cid);
  expect(answer.status).toBe(200);
  expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true);
  expect(asked.every((url) => url.endsWith("?format=raw"))).toBe(true);
  const range = await get(cid, { Range: "bytes=1048570-1048590" });
  expect([range.status, await range.text()]).toEqual([206, bytes.subarray(1_048_570, 1_048_591).toString()]);
  expect(await server.files()).toEqual([]);
  expect(await server.rows()).toBe(0);
});

test("directories of others are listed and walked; what nobody has is 404 and is not asked for again at once", async () => {
  async function* files() {
    for (let id = 0; id < 3; id += 1)
      yield { names: [`${id}.json`], bytes: Buffer.from(`{"id":${id}}`), contentType: "application/json" };
  }
  const root = String((await importDirectory(files(), store)).root);
  expect(await (await get(`${root}/2.json`)).json()).toEqual({ id: 2 });
  expect(await (await get(root)).text()).toContain("1.json");
  expect((await get(`${root}/9.json`)).status).toBe(404);
  asked = [];
  const nobody = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy";
  expect([(await get(nobody)).status, (await get(nobody)).status]).toEqual([404, 404]);
  expect(asked).toEqual([`${nobody}?format=raw`]);
});

test("what is stored here is never asked for elsewhere", async () => {
  asked = [];
  const body = form("metadata_files", [{ filename: "0.json", text: "{}" }]);
  const answer = await fetch(`${server.url}/v0/metadata/directory`, { method: "POST", body });
  const { metadata_directory_ipfs_uri: uri } = (await answer.json()) as { metadata_directory_ipfs_uri: string };
  const root = uri.slice("ipfs://".length, -1);
  expect([(await get(`${root}/0`)).status, (await get(`${root}/1`)).status, (await get(root)).status]).toEqual([
    200, 404, 200,
  ]);
  expect(asked).toEqual([]);
});

test.each(["wrong bytes", "endless"] as const)("a gateway's answer (%s) is not passed on", async (trick) => {
  const cid = await file(bytesOf(1_000, trick));
  mischief.set(cid, trick);
  expect((await get(cid)).status).toBe(404);
});

test("a redirect of the gateway into this network is not followed", async () => {
  const strict = await startUploadServer({ IPFS_FETCH_GATEWAYS: remoteUrl, IPFS_GATEWAY_FETCH: "on" });
  const cid = await file(bytesOf(1_000, "inside"));
  mischief.set(cid, "redirect inside");
  expect((await fetch(`${strict.url}/ipfs/${cid}`)).status).toBe(404);
  await strict.close();
});

test("content of others beyond the largest file is refused, and without the setting nothing is fetched", async () => {
  const cid = await file(bytesOf(9_000_000, "too large"));
  const answer = await get(cid);
  expect([answer.status, await answer.json()]).toMatchObject([413, { error: { code: "file_too_large" } }]);
  expect((await get(cid, { Range: "bytes=8000000-8000099" })).status).toBe(206);
  const closed = await startUploadServer({ IPFS_FETCH_GATEWAYS: remoteUrl });
  expect((await fetch(`${closed.url}/ipfs/${cid}`)).status).toBe(404);
  await closed.close();
});
