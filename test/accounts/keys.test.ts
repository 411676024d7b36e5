import { crc32 } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { verifyAudit } from "../../src/auth/audit.ts";
import { secretPattern } from "../../src/auth/key-format.ts";
import { defaultPlans, planOfRow } from "../../src/auth/plans.ts";
import { createServices } from "../../src/processes/create-services.ts";
import { ApiServer } from "../setup/api-server.ts";
import { wait } from "../setup/wait.ts";

let api: ApiServer;
beforeAll(async () => {
  api = await ApiServer.start();
});
afterAll(() => api?.close());

const settings = (key: string) => api.send("GET", "/v0/me/settings", key);

describe("signing up", () => {
  test("gives one key in two spellings, and both open the same free account", async () => {
    const { status, body } = await api.send("POST", "/v0/signup", null, { name: "Ada", email: "ada@example.org" });
    expect(status).toBe(200);
    expect(body).toMatchObject({ response: "OK", tier: "free", error: null });
    expect(body.api_key).toMatch(secretPattern);
    for (const key of [body.api_key, `Bearer ${body.api_key}`, body.legacy_api_key, body.legacy_api_key.toUpperCase()])
      expect((await settings(key)).body.profile).toMatchObject({ name: "Ada", email: "ada@example.org" });
  });

  test("works through GraphQL too, and viewer shows the same account", async () => {
    const { body } = await api.graphql(null, `mutation { signUp(name: "Bob") { accountId key userErrors { code } } }`);
    const { accountId, key, userErrors } = body.data.signUp;
    expect(userErrors).toEqual([]);
    const viewer = await api.graphql(
      key,
      "{ viewer { id name plan { tier readsPerSecond } usage { requestsThisPeriod } } }",
    );
    expect(viewer.body.data.viewer).toMatchObject({
      id: accountId,
      name: "Bob",
      plan: { tier: "free", readsPerSecond: 10 },
    });
  });

  test("says what is wrong with a name, with one code at both APIs", async () => {
    const rest = await api.send("POST", "/v0/signup", null, { name: "a\u0000b" });
    expect(rest).toMatchObject({ status: 422, body: { error: { code: "value_error" } } });
    const { body } = await api.graphql(null, `mutation { signUp(name: "  ") { userErrors { code field } } }`);
    expect(body.data.signUp.userErrors).toEqual([{ code: "value_error", field: "name" }]);
  });

  test("is refused where the operator closed it", async () => {
    const closed = await ApiServer.start({ SIGN_UP: "off" });
    try {
      const { status, body } = await closed.send("POST", "/v0/signup", null, { name: "Ada" });
      expect([status, body.error.code]).toEqual([403, "sign_up_closed"]);
    } finally {
      await closed.close();
    }
  });
});

describe("keys", () => {
  test("one wrong character is seen without asking the database; look-alikes and doubles are refused", async () => {
    const { body } = await api.send("POST", "/v0/signup", null, { name: "Eve" });
    const key: string = body.api_key;
    const wrong = key.slice(0, 12) + (key[12] === "a" ? "b" : "a") + key.slice(13);
    for (const text of [wrong, key.slice(0, -1), `${key}x`, "x".repeat(9_000), `${key}, ${key}`, key.toLowerCase()])
      expect(await settings(text)).toMatchObject({ status: 401, body: { error: { code: "invalid_api_key" } } });
    // The checksum is the published one: CRC-32 in base 62.
    let [value, digits] = [crc32(key.slice(0, -6)), ""];
    const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for (; digits.length < 6; value = Math.floor(value / 62)) digits = letters[value % 62] + digits;
    expect(key.endsWith(digits)).toBe(true);
  });

  test("no spelling of a key is anywhere in the database", async () => {
    const { body } = await api.send("POST", "/v0/signup", null, { name: "Stored" });
    for (const table of ["account", "api_key", "key_secret", "audit_log"]) {
      const { rows } = await api.database.pool.query(`SELECT t::text AS row FROM service.${table} t`);
      const text = rows.map((row) => row.row).join("\n");
      expect(text).not.toContain(body.api_key);
      expect(text).not.toContain(body.legacy_api_key);
    }
  });

  test("a key does what its scopes say and nothing else, at both APIs", async () => {
    const owner = await api.account("growth");
    const made = await api.send("POST", "/v0/me/keys", owner.key, { name: "reader", scopes: ["read"] });
    const key = made.body.api_key;
    expect((await settings(key)).status).toBe(200);
    const missing = { status: 403, body: { error: { code: "scope_missing" } } };
    expect(await api.send("POST", "/v0/metadata", key, {})).toMatchObject(missing);
    expect(await api.send("POST", "/v0/contracts/collections", key, {})).toMatchObject(missing);
    expect(await api.send("GET", "/v0/me/keys", key)).toMatchObject(missing);
    const { body } = await api.graphql(key, `mutation { createKey(name: "x", scopes: [READ]) { key } }`);
    expect(body.errors[0].extensions.code).toBe("scope_missing");
    const more = await api.graphql(
      key,
      "query { ...F } fragment F on Query { viewer { name ...K } } fragment K on Viewer { keys { id } }",
    );
    expect(more.body.errors[0].extensions.code).toBe("scope_missing");
  });

  test("a body is refused with all of its faults at once, the gravest first; null counts as absent", async () => {
    const owner = await api.account("growth");
    const refusal = async (path: string, body: unknown) => {
      const { status, body: answer } = await api.send("POST", path, owner.key, body);
      const { code, message } = answer.error;
      return { status, code, message };
    };
    expect(await refusal("/v0/me/keys", { name: null, scopes: ["read", "all"], expires_at: "31 February" })).toEqual({
      ...{ status: 422, code: "parameter_missing", message: "name is missing" },
    });
    expect(await refusal("/v0/me/keys", { name: "x", scopes: ["read", "all"] })).toMatchObject({
      ...{
        status: 422,
        code: "invalid_enumeration",
        message: expect.stringMatching(/^scopes\[1\] must be one of: read, /),
      },
    });
    expect(await refusal("/v0/me/keys", { name: {}, scopes: "read" })).toMatchObject({ code: "invalid_type" });
    expect(await refusal("/v0/me/keys", { name: "x", expires_at: "2030-02-31" })).toMatchObject({
      ...{ code: "invalid_date", message: expect.stringContaining("ISO 8601") },
    });
    expect(await refusal("/v0/me/keys", { name: "x", expires_at: "" })).toMatchObject({ code: "invalid_date" });
    expect(await refusal("/v0/me/keys", { name: "" })).toMatchObject({ code: "value_error" });
    const rotate = `/v0/me/keys/key_${"0".repeat(32)}/rotate`;
    expect(await refusal(rotate, { overlap_seconds: 2_592_001 })).toMatchObject({ code: "value_error" });
    expect(await refusal(rotate, { overlap_seconds: "soon" })).toMatchObject({ code: "invalid_type" });
    expect(await refusal(rotate, { overlap_seconds: "" })).toMatchObject({ code: "invalid_type" });
    expect(await refusal(rotate, [])).toMatchObject({ code: "invalid_type" });
    const made = await api.send("POST", "/v0/me/keys", owner.key, {
      ...{ name: "app", scopes: null, expires_at: "2999-01-02T03:04:05+02:00" },
    });
    // Ignored, it would make a key without an end.
    const misspelt = await refusal("/v0/me/keys", { name: "app", expire_at: "2999-01-02T03:04:05+02:00" });
    expect(misspelt).toEqual({
      ...{ status: 422, code: "value_error" },
      message: '"expire_at" is no member here; there are name, scopes, expires_at',
    });
    expect(made.body.key).toMatchObject({ scopes: ["read"], expires_at: "2999-01-02T01:04:05.000Z" });
  });

  test("a key cannot make one that may do more than itself", async () => {
    const owner = await api.account();
    const admin = await api.send("POST", "/v0/me/keys", owner.key, { name: "admin", scopes: ["admin"] });
    const sent = await api.send("POST", "/v0/me/keys", admin.body.api_key, { name: "more", scopes: ["deploy"] });
    expect(sent).toMatchObject({ status: 403, body: { error: { code: "scope_missing" } } });
  });

  test("rotation leaves the old key working until its time is over", async () => {
    const owner = await api.account();
    const first = await api.send("POST", "/v0/me/keys", owner.key, { name: "app", scopes: ["read"] });
    const second = await api.send("POST", `/v0/me/keys/${first.body.key.id}/rotate`, owner.key, { overlap_seconds: 1 });
    expect(second.body.key).toMatchObject({ name: "app", scopes: ["read"] });
    expect((await settings(second.body.api_key)).status).toBe(200);
    await wait("the revocation", async () => (await settings(first.body.api_key)).status === 403);
    expect((await settings(first.body.legacy_api_key)).body.error.code).toBe("invalid_credentials");
    expect((await settings(second.body.api_key)).status).toBe(200);
  });

  test("a rotation that is refused leaves the old key as it was, whatever the reason", async () => {
    const owner = await api.account();
    const make = (by: string, scopes: string[]) => api.send("POST", "/v0/me/keys", by, { name: "app", scopes });
    const rotate = (by: string, id: string) => api.send("POST", `/v0/me/keys/${id}/rotate`, by, { overlap_seconds: 0 });
    const keysNow = async () =>
      (
        await api.database.pool.query(
          "SELECT id, expires_at, revoked_at FROM service.api_key WHERE account_id = $1 ORDER BY id",
          [owner.id],
        )
      ).rows;
    const [old, admin] = [await make(owner.key, ["deploy"]), await make(owner.key, ["admin"])];
    const before = await keysNow();
    // The asking key may not hand on what the old one may do.
    const { status, body } = await rotate(admin.body.api_key, old.body.key.id);
    expect([status, body.error.code]).toEqual([403, "scope_missing"]);
    expect(await keysNow()).toEqual(before);
    // The account has all its keys, and with an overlap the old one stays among them.
    await api.database.pool.query(
      `INSERT INTO service.api_key (account_id, name, scopes)
        SELECT $1, 'full', '{read}' FROM generate_series(1, $2::int)`,
      [owner.id, 100 - before.length],
    );
    const full = await keysNow();
    const refused = await api.send("POST", `/v0/me/keys/${old.body.key.id}/rotate`, owner.key, { overlap_seconds: 60 });
    expect([refused.status, refused.body.error.code]).toEqual([403, "plan_limit_exceeded"]);
    expect(await keysNow()).toEqual(full);
    // Without one the new key replaces it.
    expect((await rotate(owner.key, old.body.key.id)).status).toBe(200);
  });

  test("a revoked key ends in every process within a second, in both spellings; another account cannot revoke it", async () => {
    // A second process' view of the same keys.
    const other = createServices(api.services.config, "other");
    // Rates count by account: this one asks often.
    const [owner, outsider] = [await api.account("enterprise"), await api.account()];
    const took: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      const made = await api.send("POST", "/v0/me/keys", owner.key, { name: "short", scopes: ["read"] });
      const { id } = made.body.key;
      expect((await settings(made.body.api_key)).status).toBe(200);
      expect((await settings(made.body.legacy_api_key)).status).toBe(200);
      expect((await other.auth.keys.owner(made.body.api_key)).keyId).toBe(id);
      expect((await api.send("DELETE", `/v0/me/keys/${id}`, outsider.key)).status).toBe(404);
      const started = performance.now();
      expect((await api.send("DELETE", `/v0/me/keys/${id}`, owner.key)).status).toBe(200);
      await wait("the revocation", async () => (await settings(made.body.api_key)).status === 403);
      await wait("the revocation", async () => (await settings(made.body.legacy_api_key)).status === 403);
      await wait(
        "the revocation",
        async () => (await other.auth.keys.owner(made.body.api_key).catch(() => null)) === null,
      );
      took.push(performance.now() - started);
    }
    // A figure for the reader; how busy the machine is must not decide the test.
    console.info(`revocation: ${took.map((ms) => Math.round(ms)).join(", ")} ms`);
    await other.pool.end();
  });

  test("a suspended account gets that error, and works again when it is resumed", async () => {
    const owner = await api.account();
    await api.database.pool.query("UPDATE service.account SET suspended = true WHERE id = $1", [owner.id]);
    expect((await settings(owner.key)).body.error.code).toBe("account_suspended");
    await api.database.pool.query("UPDATE service.account SET suspended = false WHERE id = $1", [owner.id]);
    await wait("the revocation", async () => (await settings(owner.key)).status === 200);
  });
});

describe("what is recorded", () => {
  test("requests are counted and shown, at both APIs alike", async () => {
    const owner = await api.account("growth");
    for (let count = 0; count < 5; count += 1) await settings(owner.key);
    await api.services.auth.usage.flush();
    const { rows } = await api.database.pool.query("SELECT requests FROM service.usage_month WHERE account_id = $1", [
      owner.id,
    ]);
    expect(rows).toEqual([{ requests: 5n }]);
    const { body } = await settings(owner.key);
    expect(body.data_usage_and_limits).toEqual({
      data_usage: { subscription_data_requests_made: 6 },
      data_limits: {
        subscription_data_requests_included: 150_000,
        max_data_requests_per_second: 50,
        max_data_requests_per_month: 150_000,
      },
    });
    expect(Object.keys(body.minting_usage_and_limits)).toEqual(["polygon", "goerli", "rinkeby", "ethereum"]);
    const keys = await api.send("GET", "/v0/me/keys", owner.key);
    expect(keys.body.keys[0].last_used_at).not.toBeNull();
  });

  test("a used up month is a plan limit, and the operator's plan table decides it", async () => {
    const owner = await api.account("scale");
    await api.database.pool.query("UPDATE service.plan SET requests_per_month = 2 WHERE tier = 'scale'");
    const ask = async () => (await settings(owner.key)).body.error?.code ?? "ok";
    expect([await ask(), await ask()]).toEqual(["ok", "ok"]);
    // Requests are stored once a second, and a key is looked up now and then: some more may be answered in between.
    const refused = await wait("the end of the month", ask, { until: (code) => code !== "ok" });
    const again = await ask();
    await api.database.pool.query("UPDATE service.plan SET requests_per_month = 1000000 WHERE tier = 'scale'");
    expect([refused, again]).toEqual(["plan_limit_exceeded", "plan_limit_exceeded"]);
  });

  test("the plans that are shipped are those of the code", async () => {
    const { rows } = await api.database.pool.query("SELECT * FROM service.plan");
    expect(Object.fromEntries(rows.map((row) => [row.tier, planOfRow(row)]))).toEqual(defaultPlans);
  });

  test("the audit log cannot be changed through SQL, and a change behind its back is found", async () => {
    const { pool, db } = api.database;
    await expect(pool.query("UPDATE service.audit_log SET actor = 'nobody'")).rejects.toThrow("only ever added");
    await expect(pool.query("DELETE FROM service.audit_log")).rejects.toThrow("only ever added");
    await expect(pool.query("TRUNCATE service.audit_log")).rejects.toThrow("only ever added");
    const before = await verifyAudit(db);
    expect(before).toMatchObject({ brokenAt: null });
    expect(before.rows).toBeGreaterThan(10);
    await pool.query("ALTER TABLE service.audit_log DISABLE TRIGGER audit_chain");
    await pool.query("UPDATE service.audit_log SET actor = 'nobody' WHERE seq = 3");
    expect(await verifyAudit(db)).toMatchObject({ brokenAt: "3" });
  });
});
