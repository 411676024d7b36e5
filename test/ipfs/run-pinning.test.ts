import { afterEach, beforeEach, expect, test } from "vitest";
import { runPinning } from "../../src/ipfs/run-pinning.ts";
import { form, startUploadServer, type UploadServer } from "../uploads/upload-server.ts";
import { type PinataServer, startPinata } from "./pinata-server.ts";

let pinata: PinataServer;
let server: UploadServer;
let stop: AbortController;
let running: Promise<void>;

beforeEach(async () => {
  pinata = await startPinata();
  server = await startUploadServer({ PINATA_JWT: pinata.jwt, PINATA_UPLOAD_URL: pinata.url });
  stop = new AbortController();
  running = Promise.resolve();
});
afterEach(async () => {
  stop.abort();
  await running;
  await server.close();
  await pinata.close();
});

async function upload(text: string): Promise<string> {
  const body = form("file", [{ filename: "ünï.txt", text, type: "text/plain" }]);
  const answer = await fetch(`${server.url}/v0/files`, { method: "POST", body });
  return ((await answer.json()) as { ipfs_url: string }).ipfs_url.replace("https://ipfs.io/ipfs/", "");
}

const rows = () =>
  server.services.db
    .selectFrom("service.upload")
    .select(["cid", "pin_state", "pin_error", "pin_attempts"])
    .orderBy("created_at")
    .execute();
const states = async () => (await rows()).map((row) => row.pin_state);
/** The wait is the worker's business; the test makes the time come. */
const makeDue = () =>
  server.services.db
    .updateTable("service.upload")
    .set({ pin_due_at: new Date(0) })
    .where("pin_error", "is not", null)
    .execute();
const start = () => {
  running = runPinning(server.services, stop.signal);
};

test("an upload answers before it is pinned; two workers pin each content with its own root", async () => {
  const cids = [await upload("one"), await upload("x".repeat(3_000_000)), await upload("one")];
  expect(await states()).toEqual(["queued", "queued", "queued"]);
  start();
  const second = runPinning(server.services, stop.signal);
  await expect.poll(states, { timeout: 20_000 }).toEqual(["pinned", "pinned", "pinned"]);
  expect([...new Set(pinata.pinned)].sort()).toEqual([...new Set(cids)].sort());
  stop.abort();
  await second;
});

test("an answer 429 or 500 is tried again, and its text is in the row until then", async () => {
  pinata.failures.push(429, 500);
  await upload("busy");
  start();
  await expect.poll(async () => (await rows())[0]?.pin_error, { timeout: 10_000 }).toContain("as asked");
  expect(await states()).toEqual(["queued"]);
  // The wait is the worker's business; the test makes the time come.
  const statesWhenDue = async () => {
    await server.services.db
      .updateTable("service.upload")
      .set({ pin_due_at: new Date(0) })
      .execute();
    return await states();
  };
  await expect.poll(statesWhenDue, { timeout: 20_000, interval: 300 }).toEqual(["pinned"]);
  expect((await rows())[0]).toMatchObject({ pin_error: null, pin_attempts: 3 });
});

test("another root than ours fails the pin for good", async () => {
  pinata.otherRoot = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy";
  const cid = await upload("changed");
  start();
  await expect.poll(states, { timeout: 10_000 }).toEqual(["failed"]);
  expect((await rows())[0]?.pin_error).toBe(`pinata stored the root ${pinata.otherRoot} instead of ${cid}`);
  expect(pinata.requests).toBe(1);
});

test("an answer that is cut off proves nothing: the content is queued until a whole answer came", async () => {
  pinata.cuts.push("before", "within");
  const cid = await upload("cut");
  start();
  for (const attempts of [1, 2]) {
    await expect
      .poll(async () => (await rows())[0], { timeout: 20_000 })
      .toMatchObject({
        pin_state: "queued",
        pin_attempts: attempts,
        pin_error: expect.stringMatching(/./),
      });
    await makeDue();
  }
  await expect.poll(states, { timeout: 20_000 }).toEqual(["pinned"]);
  expect(new Set(pinata.pinned)).toEqual(new Set([cid]));
});

test("while a slow service works, the upload is queued and no second worker sends it again", async () => {
  pinata.delayMs = 2_000;
  await upload("slow");
  start();
  const second = runPinning(server.services, stop.signal);
  await expect.poll(() => pinata.requests, { timeout: 10_000 }).toBe(1);
  expect(await states()).toEqual(["queued"]);
  await expect.poll(states, { timeout: 20_000 }).toEqual(["pinned"]);
  expect(pinata.requests).toBe(1);
  stop.abort();
  await second;
});

test("413 fails for good, and is not called pinned", async () => {
  pinata.failures.push(413);
  await upload("too large there");
  start();
  await expect.poll(states, { timeout: 10_000 }).toEqual(["failed"]);
  expect(pinata.pinned).toEqual([]);
});

test("a wrong key is waited out, since the operator can mend it", async () => {
  pinata.jwt = "another";
  await upload("locked out");
  start();
  await expect.poll(async () => (await rows())[0]?.pin_error, { timeout: 10_000 }).toMatch(/Authentication failed/);
  expect(await states()).toEqual(["queued"]);
});

test("without a remote driver there is nothing to run and uploads are local", async () => {
  const local = await startUploadServer();
  await runPinning(local.services, new AbortController().signal);
  const body = form("file", [{ filename: "a", text: "a" }]);
  await fetch(`${local.url}/v0/files`, { method: "POST", body });
  expect(await local.services.db.selectFrom("service.upload").select("pin_state").execute()).toEqual([
    { pin_state: "local" },
  ]);
  await local.close();
});
