import { openAsBlob } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ipfsDir } from "../../src/config/config.ts";
import { carPath } from "../../src/ipfs/local-cars.ts";
import { createPinata } from "../../src/ipfs/pinata.ts";
import { slowness } from "../setup/wait.ts";
import { startUploadServer, type UploadServer } from "../uploads/upload-server.ts";
import { type PinataCall, type PinataFault, startPinata } from "./pinata-server.ts";
import { finalStatuses, pinataSettings } from "./pinata-settings.ts";

// Above 90 MiB the driver sends pieces: every fault on every call of it.
let server: UploadServer;
let cid: string;
let car: Blob;
beforeAll(async () => {
  server = await startUploadServer();
  const { content, db } = server.services;
  async function* noise() {
    for (let chunk = 0; chunk < 91; chunk += 1) yield Buffer.alloc(1_048_576, `piece ${chunk}`);
  }
  cid = await content.addFile({ stream: noise() }, async (_, stored) => stored.cid);
  const { file } = await db.selectFrom("service.car").select("file").where("root", "=", cid).executeTakeFirstOrThrow();
  car = await openAsBlob(carPath(ipfsDir(server.services.config), file), { type: "application/vnd.ipld.car" });
});
afterAll(() => server.close());

// The SDK itself sends a piece up to six times, for half a minute; so the cases wait side by side.
test.concurrent.each<[PinataCall, PinataFault[], "pinned" | "other" | "refused" | "later"]>([
  ["create", [401], "later"],
  ["create", [429], "later"],
  ["create", [413], "refused"],
  ["create", ["cut"], "later"],
  ["piece", [429, "cut", "slow"], "pinned"],
  ["piece", Array(6).fill(401), "later"],
  ["piece", Array(6).fill(413), "refused"],
  ["list", [401], "later"],
  ["list", [429], "later"],
  ["list", ["cut within"], "later"],
  ["piece", ["other root"], "other"],
])("%s, %j: %s", { timeout: 300_000 * slowness }, async (call, faults, expected) => {
  const pinata = await startPinata();
  pinata.faults = { [call]: [...faults] };
  const driver = createPinata(pinataSettings(pinata));
  const outcome = await driver
    .pin(cid, car, async () => null)
    .then(
      (root) => (root === cid ? "pinned" : "other"),
      (error: { statusCode?: number }) => (finalStatuses.includes(error.statusCode ?? 0) ? "refused" : "later"),
    );
  expect(outcome).toBe(expected);
  if (outcome === "pinned") expect(pinata.pinned).toContain(cid);
  await pinata.close();
});
