import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runPinning } from "../../src/ipfs/run-pinning.ts";
import { Rounds } from "../../src/rounds.ts";
import { patient } from "../setup/wait.ts";
import { form, startUploadServer, type UploadServer } from "../uploads/upload-server.ts";
import { type PinataCall, type PinataFault, type PinataServer, startPinata } from "./pinata-server.ts";
import { finalStatuses, pinataSettings } from "./pinata-settings.ts";

// Every fault on every call of the driver. Whatever comes back: pinned is said of our own root alone, and only
// when the other side has it.
describe("a small upload", () => {
  let pinata: PinataServer;
  let server: UploadServer;
  let count = 0;
  beforeAll(async () => {
    pinata = await startPinata();
    const { jwt, uploadUrl, endpointUrl, legacyUploadUrl } = pinataSettings(pinata);
    server = await startUploadServer({
      PINATA_JWT: jwt,
      PINATA_UPLOAD_URL: uploadUrl,
      PINATA_ENDPOINT_URL: endpointUrl,
      PINATA_LEGACY_UPLOAD_URL: legacyUploadUrl,
    });
  });
  afterAll(async () => {
    await server.close();
    await pinata.close();
  });

  const cases = (["car", "folder"] as const).flatMap((call) =>
    ([401, 402, 403, 404, 413, 429, 500, 503, "cut", "cut within", "slow", "other root"] as const).map(
      (fault): [PinataCall, PinataFault] => [call, fault],
    ),
  );

  test.each(cases)("%s: %s", async (call, fault) => {
    const { db } = server.services;
    count += 1;
    Object.assign(pinata, { refusesCars: call === "folder" ? 422 : null, otherRoot: null, pinned: [] });
    pinata.faults = { [call]: [fault] };
    const files = form("metadata_files", [{ filename: "0.json", text: `{"case":${count}}` }]);
    expect((await fetch(`${server.url}/v0/metadata/directory`, { method: "POST", body: files })).status).toBe(200);
    const newest = () =>
      db
        .selectFrom("service.upload")
        .select(["id", "cid", "pin_state as state", "pin_error as error", "pin_attempts as attempts"])
        .orderBy("created_at", "desc")
        .limit(1)
        .executeTakeFirstOrThrow();
    const stop = new AbortController();
    const running = runPinning(server.services, new Rounds(stop.signal));
    // Pinned, failed, or waiting with a reason: decided.
    const decided = async () => {
      const { state, error } = await newest();
      return state !== "queued" || error !== null;
    };
    await expect.poll(decided, patient).toBe(true);
    const first = await newest();
    if (fault === "slow") expect(first).toMatchObject({ state: "pinned", attempts: 1 });
    else if (fault === "other root") expect(first).toMatchObject({ state: "failed" });
    else if (typeof fault === "number" && finalStatuses.includes(fault))
      expect(first).toMatchObject({ state: "failed" });
    else expect(first).toMatchObject({ state: "queued", error: expect.stringMatching(/./) });
    if (first.state === "pinned") expect(pinata.pinned).toContain(first.cid);

    if (first.state === "queued") {
      // The fault has passed: the next attempt ends it.
      await db
        .updateTable("service.upload")
        .set({ pin_due_at: new Date(0) })
        .where("id", "=", first.id)
        .execute();
      await expect.poll(async () => (await newest()).state, patient).toBe("pinned");
      expect(pinata.pinned).toContain(first.cid);
    }
    stop.abort();
    await running;
  });
});
