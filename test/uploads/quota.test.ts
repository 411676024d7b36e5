import { randomBytes, randomUUID } from "node:crypto";
import { readdir } from "node:fs/promises";
import { request } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { UploadPermits } from "../../src/auth/upload-permits.ts";
import { setTenant, withTenantScope } from "../../src/db/tenancy/tenant.ts";
import { bytesOfRow } from "../../src/uploads/upload-record.ts";
import { ApiServer } from "../setup/api-server.ts";
import { send } from "../setup/send.ts";
import { patient } from "../setup/wait.ts";
import { multipartGraphql } from "./multipart-graphql.ts";
import { rawRequest } from "./raw-request.ts";

let api: ApiServer;
let owner: { id: string; key: string };

beforeAll(async () => {
  api = await ApiServer.start({ RATE_LIMITS: "off" });
  await api.database.pool.query(
    "UPDATE service.plan SET storage_bytes = 10000, uploads_at_once = 1 WHERE tier = 'growth'",
  );
});
afterAll(() => api?.close());
beforeEach(async () => {
  owner = await api.account("growth");
});

async function upload(bytes: Uint8Array<ArrayBuffer>, key = owner.key) {
  const body = new FormData();
  body.append("file", new Blob([bytes]), "a.bin");
  return await send(`${api.url}/v0/files`, { key, body });
}

async function storage() {
  const { body } = await api.send("GET", "/v0/me/settings", owner.key);
  return body.storage_usage_and_limits;
}

const noise = (size: number) => new Uint8Array(randomBytes(size));

describe("what an account may keep", () => {
  test("is counted once per content, shown at both APIs, and never exceeded", async () => {
    const first = noise(3_000);
    expect([(await upload(first)).status, (await upload(first)).status]).toEqual([200, 200]);
    expect(await storage()).toEqual({
      storage_usage: { stored_bytes: 3_000 },
      storage_limits: { max_stored_bytes: 10_000, max_uploads_at_once: 1 },
    });
    const viewer = "{ viewer { plan { storageBytes uploadsAtOnce } usage { storedBytes } } }";
    expect((await api.graphql(owner.key, viewer)).body.data).toEqual({
      viewer: { plan: { storageBytes: "10000", uploadsAtOnce: 1 }, usage: { storedBytes: "3000" } },
    });
    const refused = await upload(noise(8_000));
    expect(refused).toMatchObject({ status: 403, body: { error: { code: "plan_limit_exceeded" } } });
    expect(refused.body.error?.message).toMatch(/keeps 10000 bytes and holds 3000/);
    expect((await storage()).storage_usage).toEqual({ stored_bytes: 3_000 });
    expect((await upload(noise(7_000))).status).toBe(200);
    expect((await upload(noise(1))).status).toBe(403);
  });

  test("content of few bytes counts for the rows that it is in the database", async () => {
    expect((await upload(noise(1))).status).toBe(200);
    // Of its block and its entry.
    expect((await storage()).storage_usage).toEqual({ stored_bytes: 2 * bytesOfRow });
    const directory = new FormData();
    for (let at = 0; at < 3; at += 1)
      directory.append("metadata_files", new Blob([`{"name":"${randomUUID()}"}`]), `${at}.json`);
    const stored = await send(`${api.url}/v0/metadata/directory`, { key: owner.key, body: directory });
    // Three files and the directory are blocks, and each file has two names.
    expect([stored.status, (await storage()).storage_usage.stored_bytes]).toEqual([403, 2 * bytesOfRow]);
    expect(10 * bytesOfRow).toBeGreaterThan(10_000);
  });

  test("another account's bytes do not count, not even for the same content", async () => {
    const bytes = noise(9_000);
    const other = await api.account("growth");
    expect([(await upload(bytes)).status, (await upload(bytes, other.key)).status]).toEqual([200, 200]);
    expect((await storage()).storage_usage).toEqual({ stored_bytes: 9_000 });
  });

  test("two uploads for one last place: the database lets one of them in", async () => {
    const { content } = api.services;
    const store = async (seed: number) =>
      await withTenantScope(async () => {
        setTenant(owner.id);
        const stream = (async function* () {
          yield Buffer.alloc(4_000, `${seed} ${owner.id}`);
        })();
        // Straight to the store: nothing but the trigger stands in the way.
        return await content.addFile({ stream }, async (transaction, { cid, carId, profile }) => {
          await transaction
            .insertInto("service.upload")
            .values({
              ...{ account_id: owner.id, kind: "file", cid, car_id: carId, file_name: null, content_type: null },
              ...{ size: 4_000, profile, pin_state: "local", pin_error: null, pinned_at: null },
            })
            .execute();
          return cid;
        });
      });
    const stored = await Promise.allSettled([1, 2, 3].map(store));
    const refusals = stored.flatMap((result) => (result.status === "rejected" ? [String(result.reason)] : []));
    expect(refusals).toEqual([expect.stringMatching(/keeps 10000 bytes, and this upload would make it 12000/)]);
    expect((await storage()).storage_usage).toEqual({ stored_bytes: 8_000 });
  });

  test("a body that announces more than is left is refused before it comes", async () => {
    const head = `POST /v0/files HTTP/1.1\r\nHost: x\r\nAuthorization: ${owner.key}\r\nConnection: close\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 5000000\r\n\r\n`;
    const answer = await rawRequest(api.port, [head]);
    expect(answer.slice(0, 12)).toBe("HTTP/1.1 403");
    expect(answer).toContain("plan_limit_exceeded");
  });

  test("the other API says the same, and a dry run needs no room", async () => {
    expect((await upload(noise(9_900))).status).toBe(200);
    const file = { name: "0.json", blob: new Blob([`{"name":"${"x".repeat(500)}"}`]) };
    const document = `mutation ($files: [Upload!]!, $dry: Boolean) { uploadMetadataDirectory(files: $files, dryRun: $dry) { cid userErrors { code } } }`;
    const send = (dry: boolean) =>
      multipartGraphql(api.url, owner.key, document, { dry, files: [null] }, [{ path: "variables.files.0", ...file }]);
    expect((await send(true)).body.data.uploadMetadataDirectory.cid).toMatch(/^bafy/);
    expect((await send(false)).body.data.uploadMetadataDirectory).toEqual({
      cid: null,
      userErrors: [{ code: "plan_limit_exceeded" }],
    });
    const input = { name: "x".repeat(500), description: "", fileUrl: "ipfs://x" };
    const metadata = "mutation ($input: MetadataInput!) { uploadMetadata(input: $input) { userErrors { code } } }";
    expect((await api.graphql(owner.key, metadata, { input })).body.data.uploadMetadata.userErrors).toEqual([
      { code: "plan_limit_exceeded" },
    ]);
  });
});

describe("uploads of one account at once", () => {
  test("a further one waits for the one before, also with another key, and is served then", async () => {
    const head = '--b\r\nContent-Disposition: form-data; name="file"; filename="slow"\r\n\r\n';
    const headers = { Authorization: owner.key, "Content-Type": "multipart/form-data; boundary=b" };
    const slow = request(`${api.url}/v0/files`, { method: "POST", headers });
    const answered = new Promise<number>((done) => slow.once("response", ({ statusCode }) => done(statusCode ?? 0)));
    slow.write(`${head}begun`);
    // Its CAR stands when its place is taken.
    await expect.poll(async () => await runningUploads(), patient).toBe(1);
    let done = false;
    const further = await api.send("POST", "/v0/me/keys", owner.key, { name: "further", scopes: ["upload"] });
    const second = upload(noise(100), further.body.api_key).finally(() => {
      done = true;
    });
    // Three, one after the other: time enough for the one that waits, if it had not to. Each counts for two rows.
    const other = await api.account("enterprise");
    for (let turn = 0; turn < 3; turn += 1) expect((await upload(noise(100), other.key)).status).toBe(200);
    expect(done).toBe(false);
    slow.end(" and ended\r\n--b--\r\n");
    expect([await answered, (await second).status]).toEqual([200, 200]);
  });

  async function runningUploads(): Promise<number> {
    const names = await readdir(api.dataDir, { recursive: true });
    return names.filter((name) => name.endsWith(".part")).length;
  }

  test("who waits too long, or behind too many, is told to come again", async () => {
    const permits = new UploadPermits(50);
    const leave = await permits.take("a", 1);
    const crowd = await Promise.all(Array.from({ length: 20 }, () => permits.take("a", 1)));
    expect(crowd).toEqual(Array(20).fill(null));
    expect(await permits.take("b", 1)).not.toBeNull();
    const next = permits.take("a", 1);
    leave?.();
    const after = await next;
    expect(after).not.toBeNull();
    after?.();
    expect(await permits.take("a", 1)).not.toBeNull();
  });
});
