import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { CarReader } from "@ipld/car/reader";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runPinning } from "../../src/ipfs/run-pinning.ts";
import { Rounds } from "../../src/rounds.ts";
import { patient } from "../setup/wait.ts";
import { form, startUploadServer, type UploadServer } from "../uploads/upload-server.ts";

type Answer = (root: string) => { status: number; text: string };
const line = (cid: string, error = "") => `${JSON.stringify({ Root: { Cid: { "/": cid }, PinErrorMsg: error } })}\n`;
const good: Answer = (root) => ({ status: 200, text: line(root) });
const authorization = "Bearer test";
const otherRoot = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy";

let answers: Answer[];
let imported: string[];
let server: UploadServer;
let stop: AbortController;
let running: Promise<void>;

/** `dag/import` as kubo documents it: a CAR in a form, one line of JSON per root. */
const kubo = createServer(async (request, response) => {
  const url = new URL(request.url ?? "", "http://kubo");
  const type = request.headers["content-type"] ?? "";
  const body = await new Response(await buffer(request), { headers: { "Content-Type": type } }).formData();
  const file = body.get("file");
  if (request.headers.authorization !== authorization) return void response.writeHead(403).end("403 - Forbidden");
  if (url.pathname !== "/api/v0/dag/import" || request.method !== "POST" || !(file instanceof File))
    return void response.writeHead(404).end("404 page not found");
  const [root] = await (await CarReader.fromBytes(new Uint8Array(await file.arrayBuffer()))).getRoots();
  imported.push(String(root));
  const { status, text } = (answers.shift() ?? good)(String(root));
  response.writeHead(status, { "Content-Type": "application/json" }).end(text);
});

beforeEach(async () => {
  answers = [];
  imported = [];
  kubo.listen(0, "127.0.0.1");
  await once(kubo, "listening");
  const { port } = kubo.address() as AddressInfo;
  const env = { KUBO_RPC_URL: `http://127.0.0.1:${port}/`, KUBO_RPC_AUTHORIZATION: authorization };
  server = await startUploadServer(env);
  stop = new AbortController();
  running = Promise.resolve();
});
afterEach(async () => {
  stop.abort();
  await running;
  await server.close();
  kubo.closeAllConnections();
  kubo.close();
  await once(kubo, "close");
});

async function upload(text: string): Promise<string> {
  const body = form("metadata_files", [{ filename: "0.json", text }]);
  const answer = await fetch(`${server.url}/v0/metadata/directory`, { method: "POST", body });
  const { metadata_directory_ipfs_uri: uri } = (await answer.json()) as { metadata_directory_ipfs_uri: string };
  return uri.slice("ipfs://".length, -1);
}
const row = async () =>
  await server.services.db.selectFrom("service.upload").select(["pin_state", "pin_error"]).executeTakeFirstOrThrow();
const start = () => {
  running = runPinning(server.services, new Rounds(stop.signal));
};

test("an upload is pinned when the node names our root", async () => {
  const cid = await upload("{}");
  expect((await row()).pin_state).toBe("queued");
  start();
  await expect.poll(async () => (await row()).pin_state, patient).toBe("pinned");
  expect(imported).toEqual([cid]);
});

const unsure: [what: string, answer: Answer, error: RegExp][] = [
  ["500", () => ({ status: 500, text: '{"Message":"no space left","Code":0,"Type":"error"}' }), /500.*no space left/],
  ["200 without a line", () => ({ status: 200, text: "" }), /0 roots/],
  ["200 with a pin error", (root) => ({ status: 200, text: line(root, "pin: merkledag not found") }), /merkledag/],
  ["200 with half a line", (root) => ({ status: 200, text: line(root).slice(0, 30) }), /JSON/],
];
test.each(unsure)("%s is no pin: it stays queued with the reason, and is tried again", async (_what, answer, error) => {
  answers.push(answer);
  await upload("{}");
  start();
  await expect.poll(async () => (await row()).pin_error, patient).toMatch(error);
  expect((await row()).pin_state).toBe("queued");
});

test("another root fails for good", async () => {
  answers.push(() => ({ status: 200, text: line(otherRoot) }));
  const cid = await upload("{}");
  start();
  await expect.poll(async () => (await row()).pin_state, patient).toBe("failed");
  expect((await row()).pin_error).toBe(`kubo stored the root ${otherRoot} instead of ${cid}`);
});
