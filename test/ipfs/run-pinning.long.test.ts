import { afterEach, beforeEach, expect, test } from "vitest";
import { createPinata } from "../../src/ipfs/pinata.ts";
import { claimPin, pinFailed, pinLater, runPinning } from "../../src/ipfs/run-pinning.ts";
import { Rounds } from "../../src/rounds.ts";
import { patient } from "../setup/wait.ts";
import { form, startUploadServer, type UploadServer } from "../uploads/upload-server.ts";
import { type PinataServer, startPinata } from "./pinata-server.ts";

let pinata: PinataServer;
let server: UploadServer;
let stop: AbortController;
let running: Promise<void>;

beforeEach(async () => {
  pinata = await startPinata();
  server = await startUploadServer({
    PINATA_JWT: pinata.jwt,
    PINATA_UPLOAD_URL: pinata.url,
    PINATA_ENDPOINT_URL: pinata.url,
    PINATA_LEGACY_UPLOAD_URL: `${pinata.url}/pinning/pinFileToIPFS`,
  });
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
  running = runPinning(server.services, new Rounds(stop.signal));
};

test("an upload answers before it is pinned; two workers pin each content with its own root", async () => {
  const cids = [await upload("one"), await upload("x".repeat(3_000_000)), await upload("one")];
  expect(await states()).toEqual(["queued", "queued", "queued"]);
  start();
  const second = runPinning(server.services, new Rounds(stop.signal));
  await expect.poll(states, patient).toEqual(["pinned", "pinned", "pinned"]);
  expect([...new Set(pinata.pinned)].sort()).toEqual([...new Set(cids)].sort());
  stop.abort();
  await second;
});

test("an answer 429 or 500 is tried again, and its text is in the row until then", async () => {
  pinata.failures.push(429, 500);
  await upload("busy");
  start();
  await expect.poll(async () => (await rows())[0]?.pin_error, patient).toContain("as asked");
  expect(await states()).toEqual(["queued"]);
  // The wait is the worker's business; the test makes the time come.
  const statesWhenDue = async () => {
    await server.services.db
      .updateTable("service.upload")
      .set({ pin_due_at: new Date(0) })
      .execute();
    return await states();
  };
  await expect.poll(statesWhenDue, { ...patient, interval: 300 }).toEqual(["pinned"]);
  expect((await rows())[0]).toMatchObject({ pin_error: null, pin_attempts: 3 });
});

test("another root than ours fails the pin for good", async () => {
  pinata.otherRoot = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy";
  const cid = await upload("changed");
  start();
  await expect.poll(states, patient).toEqual(["failed"]);
  expect((await rows())[0]?.pin_error).toBe(`pinata stored the root ${pinata.otherRoot} instead of ${cid}`);
  expect(pinata.requests).toBe(1);
});

test("an answer that is cut off proves nothing: the content is queued until a whole answer came", async () => {
  pinata.cuts.push("before", "within");
  const cid = await upload("cut");
  start();
  for (const attempts of [1, 2]) {
    await expect
      .poll(async () => (await rows())[0], patient)
      .toMatchObject({
        pin_state: "queued",
        pin_attempts: attempts,
        pin_error: expect.stringMatching(/./),
      });
    await makeDue();
  }
  await expect.poll(states, patient).toEqual(["pinned"]);
  expect(new Set(pinata.pinned)).toEqual(new Set([cid]));
});

test("while a slow service works, the upload is queued and no second worker sends it again", async () => {
  pinata.delayMs = 2_000;
  await upload("slow");
  start();
  const second = runPinning(server.services, new Rounds(stop.signal));
  await expect.poll(() => pinata.requests, patient).toBe(1);
  expect(await states()).toEqual(["queued"]);
  await expect.poll(states, patient).toEqual(["pinned"]);
  expect(pinata.requests).toBe(1);
  stop.abort();
  await second;
});

test("a worker whose claim was over takes nothing from the one that has it now", async () => {
  const { db } = server.services;
  await upload("twice");
  const late = await claimPin(db);
  await db
    .updateTable("service.upload")
    .set({ pin_due_at: new Date(0) })
    .execute();
  const current = await claimPin(db);
  if (!late || !current) throw new Error("nothing was due");
  await pinLater(db, late, "late", 0);
  await pinFailed(db, late, "late");
  expect(await rows()).toMatchObject([{ pin_state: "queued", pin_error: null, pin_attempts: 2 }]);
  expect(await claimPin(db)).toBeNull();
  await pinLater(db, current, "in time", 0);
  expect(await rows()).toMatchObject([{ pin_state: "queued", pin_error: "in time" }]);
});

test("413 fails for good, and is not called pinned", async () => {
  pinata.failures.push(413);
  await upload("too large there");
  start();
  await expect.poll(states, patient).toEqual(["failed"]);
  expect(pinata.pinned).toEqual([]);
});

test("a wrong key is waited out, since the operator can mend it", async () => {
  pinata.jwt = "another";
  await upload("locked out");
  start();
  await expect.poll(async () => (await rows())[0]?.pin_error, patient).toMatch(/Authentication failed/);
  expect(await states()).toEqual(["queued"]);
});

test("without a remote driver there is nothing to run and uploads are local", async () => {
  const local = await startUploadServer();
  await runPinning(local.services, new Rounds(new AbortController().signal));
  const body = form("file", [{ filename: "a", text: "a" }]);
  await fetch(`${local.url}/v0/files`, { method: "POST", body });
  expect(await local.services.db.selectFrom("service.upload").select("pin_state").execute()).toEqual([
    { pin_state: "local" },
  ]);
  await local.close();
});

test.each([402, 404, 409])("%i is waited out: somebody can mend it", async (status) => {
  pinata.failures.push(status);
  await upload("waits");
  start();
  await expect.poll(async () => (await rows())[0]?.pin_error, patient).toContain("as asked");
  expect(await states()).toEqual(["queued"]);
});

async function uploadDirectory(count: number, text = ""): Promise<string> {
  const files = Array.from({ length: count }, (_, id) => ({
    filename: `${id}.json`,
    text: `{"id":${id},"text":"${text}"}`,
  }));
  const body = form("metadata_files", files);
  const answer = await fetch(`${server.url}/v0/metadata/directory`, { method: "POST", body });
  const { metadata_directory_ipfs_uri: uri } = (await answer.json()) as { metadata_directory_ipfs_uri: string };
  return uri.slice("ipfs://".length, -1);
}

test("where CARs are refused, a directory goes file by file, and is pinned when the root is ours", async () => {
  pinata.refusesCars = 422;
  const cid = await uploadDirectory(40);
  start();
  await expect.poll(states, patient).toEqual(["pinned"]);
  // Added anew over there, by another profile: small directories come out the same.
  expect(pinata.pinned).toEqual([cid]);
  expect(pinata.log).toEqual(["POST /files", "POST /pinning/pinFileToIPFS"]);
});

test("file by file, a directory that comes out with another root is not called pinned", async () => {
  pinata.refusesCars = 400;
  // Over there a file of this size is two chunks, here one.
  const cid = await uploadDirectory(2, "x".repeat(300_000));
  start();
  await expect.poll(states, patient).toEqual(["failed"]);
  expect(pinata.pinned).not.toContain(cid);
  expect((await rows())[0]?.pin_error).toBe(`pinata stored the root ${pinata.pinned[0]} instead of ${cid}`);
});

test("where CARs are refused, a single file is refused: it has no other way", async () => {
  pinata.refusesCars = 415;
  await upload("one file");
  start();
  await expect.poll(states, patient).toEqual(["failed"]);
  expect(pinata.pinned).toEqual([]);
});

test("above 90 MiB the CAR goes in pieces: a lost piece is sent again, and only our root counts", async () => {
  const { content, db, config } = server.services;
  async function* noise() {
    for (let chunk = 0; chunk < 91; chunk += 1) yield Buffer.alloc(1_048_576, `chunk ${chunk}`);
  }
  const cid = await content.addFile({ stream: noise() }, async (_, stored) => stored.cid);
  const { file } = await db.selectFrom("service.car").select("file").where("root", "=", cid).executeTakeFirstOrThrow();
  if (!config.ipfs.pinata) throw new Error("no settings");
  const driver = createPinata(config.ipfs.pinata);
  const pin = async () => await content.withCar(file, (car) => driver.pin(cid, car, async () => null));

  pinata.lostPieces = 1;
  expect(await pin()).toBe(cid);
  expect(pinata.pinned).toEqual([cid]);
  const patches = Array.from({ length: 3 }, () => "PATCH /files/0");
  expect(pinata.log).toEqual(["POST /files", ...patches, "GET /files/public"]);

  // Taken, but not in the list yet: no proof, so it is asked again.
  pinata.listed = [];
  await expect(pin()).rejects.not.toHaveProperty("statusCode", 400);
  // Another content in the list is another root.
  pinata.listed = [{ cid: "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy" }];
  expect(await pin()).not.toBe(cid);
});
