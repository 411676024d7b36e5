import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { clearRequestLog, mostRequests } from "../../src/accounts/clear-request-log.ts";
import { openSession } from "../../src/accounts/sessions.ts";
import { kept, RequestLog } from "../../src/auth/request-log.ts";
import { createPool } from "../../src/db/pool/pool.ts";
import { setTenant, withTenantScope } from "../../src/db/tenancy/tenant.ts";
import { urlShower } from "../../src/server/shown-url.ts";
import { LogOnce } from "../../src/telemetry/log-once.ts";
import { ApiServer } from "../setup/api-server.ts";
import { patient } from "../setup/wait.ts";

let api: ApiServer;
beforeAll(async () => {
  api = await ApiServer.start();
});
afterAll(() => api?.close());

interface Entry {
  [member: string]: unknown;
  request_id: string;
}
interface Page {
  kept: boolean;
  requests: Entry[];
  before: string | null;
}
type Owner = { id: string; key: string };

/** What the account is shown, once `count` of its requests are written: an answer is there before its entry is. */
async function shown(owner: Owner, count: number, query = ""): Promise<Page> {
  const rows = "SELECT count(*)::int AS n FROM service.request_log WHERE account_id = $1";
  const written = async () => {
    await api.requestLog?.flush();
    return (await api.database.pool.query<{ n: number }>(rows, [owner.id])).rows[0]?.n;
  };
  await expect.poll(written, patient).toBe(count);
  const { status, body } = await api.send("GET", `/console/requests${query}`, owner.key);
  expect([query, status]).toEqual([query, 200]);
  return body as unknown as Page;
}

const idsOf = ({ requests }: Page) => requests.map(({ request_id }) => request_id);
const contract = `0x${"c0".repeat(20)}`;

describe("an account's requests", () => {
  test("are listed newest first with route, path, status, code, duration, key and id; and its session's as a session's", async () => {
    const owner = await api.account("growth");
    const made = await api.send("POST", "/v0/me/keys", owner.key, { name: "reader", scopes: ["read"] });
    const reader: string = made.body.api_key;
    const sent = [made];
    const path = `/v0/nfts/${contract}/7?chain=goerli&include=metadata`;
    sent.push(await api.send("GET", path, reader));
    sent.push(await api.send("GET", `/v0/nfts?chain=goerli&page_size=5&continuation=${"x".repeat(60)}`, reader));
    sent.push(await api.send("GET", "/v0/nfts?chain=goerli&page_size=5", reader));
    sent.push(await api.send("GET", "/v0/nfts?chain=nowhere", reader));
    sent.push(await api.send("DELETE", "/v0/nothing/there", owner.key));
    sent.push(await api.send("POST", "/v0/metadata", reader, { name: "hidden in a body" }));
    const page = await shown(owner, 7);
    expect(page).toMatchObject({ kept: true, before: null });
    const [refused, absent, nowhere, list, cursor, token, key] = page.requests;
    const first = { key: { name: "first" }, wallet: null };
    const second = { key: { id: made.body.key.id, name: "reader" } };
    expect(refused).toMatchObject({
      ...second,
      method: "POST",
      path: "/v0/metadata",
      status: 403,
      code: "scope_missing",
    });
    expect(absent).toMatchObject({
      ...first,
      method: "DELETE",
      route: "other",
      path: "/v0/nothing/there",
      status: 404,
    });
    expect(nowhere).toMatchObject({ path: "/v0/nfts?chain=nowhere", status: 422, code: "invalid_enumeration" });
    expect(list).toMatchObject({ path: "/v0/nfts?chain=goerli&page_size=5", status: 200, code: null, operation: null });
    expect(cursor).toMatchObject({ path: "/v0/nfts?chain=goerli&page_size=5&continuation=…", status: 422 });
    expect(token).toMatchObject({ path, route: "/v0/nfts/{contract_address}/{token_id}", status: 404, skipped: 0 });
    expect(key).toMatchObject({ ...first, route: "/v0/me/keys", status: 200 });
    expect(idsOf(page)).toEqual(sent.map(({ headers }) => headers.get("x-request-id")).reverse());
    for (const { at, ms } of page.requests) {
      expect(Math.abs(Date.now() - Date.parse(String(at)))).toBeLessThan(600_000);
      expect(ms).toBeGreaterThanOrEqual(0);
    }
    await api.database.pool.query("UPDATE service.api_key SET wallet = $2 WHERE id = $1", [
      ...[made.body.key.id, Buffer.alloc(20, 1)],
    ]);
    expect((await shown(owner, 7)).requests[0]).toMatchObject({ key: null, wallet: `0x${"01".repeat(20)}` });
  });

  test("of GraphQL have operation, root fields and the first error's code, by either path, and never a variable", async () => {
    const owner = await api.account("growth");
    const query = `query Tokens($contract: Address!) { contract(address: $contract, chain: "goerli") { name } viewer { name } }`;
    const secret = { contract: `0x${"5ec2".repeat(10)}` };
    const read =
      'query Page($account: Address!) { account(address: $account) { nfts(chain: "goerli", first: 5) { nodes { tokenId } } } }';
    const answers = [
      await api.graphql(owner.key, query, secret),
      // The second time by its plan.
      await api.graphql(owner.key, read, { account: secret.contract }),
      await api.graphql(owner.key, read, { account: secret.contract }),
      await api.graphql(owner.key, "{ nonsense }"),
      await api.graphql(owner.key, 'mutation { revokeKey(id: "hidden_argument") { userErrors { code } } }'),
      await api.graphql(owner.key, "{ viewer { name"),
    ];
    const page = await shown(owner, answers.length);
    const [broken, mutation, invalid, again, once1, tokens] = page.requests;
    const graphql = { route: "/graphql", path: "/graphql", method: "POST" };
    expect(tokens).toMatchObject({ ...graphql, operation: "query Tokens", fields: "contract, viewer", status: 200 });
    for (const one of [once1, again])
      expect(one).toMatchObject({ operation: "query Page", fields: "account", status: 200, code: null });
    expect(mutation).toMatchObject({ operation: "mutation", fields: "revokeKey", status: 200, code: "not_found" });
    expect([invalid?.["code"], broken?.["code"]]).toEqual(["GRAPHQL_VALIDATION_FAILED", "GRAPHQL_PARSE_FAILED"]);
    expect(idsOf(page)).toEqual(answers.map(({ headers }) => headers.get("x-request-id")).reverse());
    expect(JSON.stringify(page)).not.toMatch(/5ec25ec2|hidden_argument/);
  });

  test("by which a session reads are counted in the next entry; what it changes or cannot read is one, and so is all that a key does", async () => {
    const owner = await api.account("growth");
    const wallet = { address: `0x${"5e".repeat(20)}` as const, chainId: 0 };
    const { secret } = await withTenantScope(() => openSession(api.services, owner.id, wallet, "req_test"));
    const ask = async (path: string, body?: unknown) => {
      const answer = await fetch(`${api.url}${path}`, {
        ...{ method: body === undefined ? "GET" : "POST", body: body === undefined ? null : JSON.stringify(body) },
        headers: { authorization: secret, "content-type": "application/json" },
      });
      await answer.text();
      return answer.headers.get("x-request-id");
    };
    const refresh = async () => {
      await ask("/v0/me/keys");
      await ask("/graphql", { query: "{ viewer { name } }" });
      await ask("/graphql", { query: "query Name { viewer { name } }" });
    };
    await refresh();
    const unread = await ask("/v0/nfts?chain=nowhere");
    await refresh();
    const wrong = await ask("/graphql", { query: "{ nonsense }" });
    const changed = await ask("/v0/me/keys", { name: "reader", scopes: ["read"] });
    const read = await api.send("GET", "/v0/me/keys", owner.key);
    const page = await shown(owner, 4);
    expect(idsOf(page)).toEqual([read.headers.get("x-request-id"), changed, wrong, unread]);
    const skipped = page.requests.map((one) => Number(one["skipped"]));
    expect(skipped.reduce((sum, one) => sum + one)).toBe(6);
  });

  test("of a stream is one, when it ends, and its client's leaving is no failure", async () => {
    const owner = await api.account("growth");
    const leave = new AbortController();
    const stream = await fetch(`${api.url}/v1/events?chain=goerli`, {
      ...{ headers: { authorization: owner.key, accept: "text/event-stream" }, signal: leave.signal },
    });
    expect(stream.status).toBe(200);
    await stream.body?.getReader().read();
    expect((await shown(owner, 0)).requests).toEqual([]);
    leave.abort();
    expect((await shown(owner, 1)).requests).toMatchObject([{ route: "/v1/events", status: 200, code: null }]);
  });

  test("are found by failure, key and a part of what they show, and paged from a cursor of the same list", async () => {
    const owner = await api.account("growth");
    const made = await api.send("POST", "/v0/me/keys", owner.key, { name: "other", scopes: ["read"] });
    for (let index = 0; index < 60; index += 1)
      await api.send("GET", index % 10 ? "/v0/nfts?chain=goerli" : `/v0/nfts/${contract}?chain=no`, made.body.api_key);
    const all = await shown(owner, 61);
    expect(all.requests).toHaveLength(50);
    const rest = await shown(owner, 61, `?before=${all.before}`);
    expect(rest).toMatchObject({ before: null, requests: { length: 11 } });
    expect(new Set([...idsOf(all), ...idsOf(rest)]).size).toBe(61);
    const failed = await shown(owner, 61, "?failed=1");
    expect(failed.requests.map(({ status }) => status)).toEqual(Array(6).fill(422));
    const count = async (query: string) => (await shown(owner, 61, query)).requests.length;
    expect(await count(`?search=${contract.toUpperCase().replace("X", "x")}`)).toBe(6);
    expect(await count(`?search=${failed.requests[2]?.request_id}`)).toBe(1);
    expect(await count("?search=INVALID_ENUM&failed=1")).toBe(6);
    expect(await count("?search=%25")).toBe(0);
    expect(await count(`?key=${failed.requests[0]?.["key"] && made.body.key.id}&failed=true`)).toBe(6);
    expect(await count(`?key=key_${"0".repeat(32)}`)).toBe(0);
    const refusals = ["?failed=perhaps", "?key=1", `?search=${"x".repeat(101)}`, "?before=abc"];
    for (const query of refusals) {
      const { status, body } = await api.send("GET", `/console/requests${query}`, owner.key);
      expect([query, status, body.error.code]).toEqual([query, 422, expect.stringMatching(/^(in)?val/)]);
    }
    const stranger = await api.account();
    const foreign = await api.send("GET", `/console/requests?before=${all.before}`, stranger.key);
    expect(foreign.body.error.code).toBe("invalid_continuation_string");
    // A key that may only read is not shown what the account's other keys do.
    const reading = await api.send("GET", "/console/requests", made.body.api_key);
    expect([reading.status, reading.body.error.code]).toEqual([403, "scope_missing"]);
    expect((await api.send("GET", "/console/requests", null)).status).toBe(401);
  });

  test("are seen by no other account, and written by none of its statements", async () => {
    const owner = await api.account();
    const stranger = await api.account();
    await api.send("GET", "/v0/me/settings", owner.key);
    expect((await shown(owner, 1)).requests).toHaveLength(1);
    expect((await shown(stranger, 0)).requests).toEqual([]);
    const pool = createPool(api.database.url, "test", 1, { tenants: true });
    const asTenant = async (id: string, text: string) =>
      await withTenantScope(async () => {
        setTenant(id);
        return (await pool.query(text)).rows;
      });
    try {
      const accounts = "SELECT DISTINCT account_id FROM service.request_log";
      expect(await asTenant(stranger.id, accounts)).toEqual([]);
      expect(await asTenant(owner.id, accounts)).toEqual([{ account_id: owner.id }]);
      expect(await asTenant(owner.id, "DELETE FROM service.request_log RETURNING 1")).toEqual([]);
      const write = `INSERT INTO service.request_log (account_id, at, key_id, method, route, path, status, ms, request_id)
        VALUES ('${owner.id}', now(), '', '', '', '', 200, 1, '')`;
      await expect(asTenant(owner.id, write)).rejects.toMatchObject({ code: "42501" });
    } finally {
      await pool.end();
    }
  });
});

test("no spelling of a key is in the log, wherever in a request it stands", async () => {
  const owner = await api.account("growth");
  const made = await api.send("POST", "/v0/me/keys", owner.key, { name: "spelt", scopes: ["read"] });
  const keys = [made.body.api_key as string, made.body.legacy_api_key as string];
  const places = (key: string) => [
    `/v0/nfts?chain=${key}&api_key=${key}`,
    `/v0/nfts?${key}`,
    `/v0/nfts?${key}=1&Authorization=${key}`,
    `/v0/nfts/${key}?chain=goerli`,
    `/v0/${key}/x`,
    `/v0/nfts/${key.replaceAll("_", "%5F").replaceAll("-", "%2D")}?include=${encodeURIComponent(key)}`,
    `/v0/search?chain=goerli&text=${key}`,
    `/graphql?query={viewer{name}}&key=${key}`,
  ];
  let count = 1;
  for (const key of keys)
    for (const place of places(key)) {
      await api.send("GET", place, `Bearer ${key}`);
      count += 1;
    }
  await api.graphql(keys[0] ?? "", `query ${keys[0]} { viewer { name } }`);
  await api.graphql(keys[0] ?? "", "query($id: String!) { viewer { name } }", { id: keys[0] });
  await shown(owner, count + 2);
  const { rows } = await api.database.pool.query<{ row: string }>("SELECT t::text AS row FROM service.request_log t");
  const text = rows.map(({ row }) => row.toLowerCase()).join("\n");
  expect(rows.length).toBeGreaterThan(count);
  for (const key of [owner.key, ...keys])
    for (const part of [key, key.slice(-20), encodeURIComponent(key)]) expect(text).not.toContain(part.toLowerCase());
});

test("of a path are kept its words, numbers, addresses and ids, and of a query the names that the reference has", () => {
  const show = urlShower();
  const path = (url: string) => show(url).path;
  expect(show(`/v1/webhooks/wh_${"a".repeat(32)}/pause`)).toEqual({
    ...{ route: "/v1/webhooks/{id}/pause", path: `/v1/webhooks/wh_${"a".repeat(32)}/pause` },
  });
  expect(path(`/v0/contracts/0x${"1".repeat(64)}?chain=goerli&chain=&text=cat`)).toBe(
    `/v0/contracts/0x${"1".repeat(64)}?chain=goerli&chain=…&text=…`,
  );
  expect(path(`/v0/nfts/${"9".repeat(79)}`)).toBe("/v0/nfts/…");
  expect(path(`/${"a/".repeat(500)}?${"chain=x&".repeat(500)}`).length).toBeLessThan(300);
});

describe("bounds", () => {
  test("beyond its burst a fast account's requests are counted, and its newest kept one says how many", async () => {
    const owner = await api.account();
    const other = await api.account();
    const log = new RequestLog(api.services.pool, api.services.logOnce, urlShower());
    const entry = ({ id }: Owner) => ({
      ...{ accountId: id, keyId: `key_${"0".repeat(32)}`, requestId: "req_1", method: "GET", url: "/v0/nfts" },
      ...{ operation: null, status: 200, code: null, endedAt: Date.now(), ms: 1.4 },
    });
    const send = (from: Owner, now: number) => {
      if (log.takes(from.id, now)) log.add(entry(from));
    };
    const now = performance.now();
    for (let index = 0; index < kept.burst + 1_234; index += 1) send(owner, now);
    send(other, now);
    await log.flush();
    const page = await shown(owner, kept.burst);
    expect(page.requests.map(({ skipped }) => skipped)).toEqual([1_234, ...Array(49).fill(0)]);
    expect((await shown(other, 1)).requests).toMatchObject([{ skipped: 0, ms: 1 }]);
    // A second gives back so many, and no more.
    for (let index = 0; index < 100; index += 1) send(owner, now + 1_000);
    await log.flush();
    expect((await shown(owner, kept.burst + kept.perSecond)).requests[0]).toMatchObject({ skipped: 80 });
  });

  test("the regular job leaves one day, and the newest ten thousand of each account", async () => {
    const [busy, quiet] = [await api.account(), await api.account()];
    const fill = `INSERT INTO service.request_log (account_id, at, key_id, method, route, path, status, ms, request_id)
      SELECT $1, clock_timestamp() - $2::interval - n * interval '1 ms', 'key', 'GET', '/v0/nfts', '/v0/nfts', 200, 1, n::text
      FROM generate_series(1, $3::integer) AS n`;
    await api.database.pool.query(fill, [busy.id, "1 hour", mostRequests + 4_500]);
    await api.database.pool.query(fill, [quiet.id, "23 hours", 5]);
    await api.database.pool.query(fill, [quiet.id, "25 hours", 2_500]);
    // What is too old is shown no more, whether the job has run or not.
    expect((await shown(quiet, 2_505)).requests).toHaveLength(5);
    await clearRequestLog(api.database.db);
    const { rows } = await api.database.pool.query(
      `SELECT account_id, count(*)::int AS n, max(request_id::int) AS oldest FROM service.request_log
       WHERE account_id IN ($1, $2) GROUP BY 1 ORDER BY 2`,
      [busy.id, quiet.id],
    );
    expect(rows).toEqual([
      { account_id: quiet.id, n: 5, oldest: 5 },
      { account_id: busy.id, n: mostRequests, oldest: mostRequests },
    ]);
  });

  test("a database that refuses the entries costs no request anything but its place in the log", async () => {
    const owner = await api.account();
    const lines: unknown[] = [];
    const logOnce = new LogOnce({ warn: (...line: unknown[]) => lines.push(line) } as never);
    const log = new RequestLog(api.services.pool, logOnce, urlShower());
    const refuse = (word: string) => `ALTER TABLE service.request_log ${word}`;
    await api.database.pool.query(refuse("ADD CONSTRAINT refuses CHECK (false) NOT VALID"));
    try {
      expect((await api.send("GET", "/v0/me/settings", owner.key)).status).toBe(200);
      await api.requestLog?.flush();
      for (let index = 0; index < 3; index += 1) {
        log.add({
          ...{ accountId: owner.id, keyId: "key", requestId: "req", method: "GET", url: "/v0/nfts", operation: null },
          ...{ status: 200, code: null, endedAt: Date.now(), ms: 1 },
        });
        await log.flush();
      }
      expect(lines).toHaveLength(1);
      expect((await api.send("GET", "/v0/me/settings", owner.key)).status).toBe(200);
    } finally {
      await api.database.pool.query(refuse("DROP CONSTRAINT refuses"));
    }
  });

  test("an upload that its client broke off is in the log as 499", async () => {
    const owner = await api.account("growth");
    const socket = connect(api.port, "127.0.0.1");
    await once(socket, "connect");
    socket.write(
      `POST /v0/files HTTP/1.1\r\nhost: x\r\nauthorization: ${owner.key}\r\ncontent-length: 1000\r\n` +
        "content-type: multipart/form-data; boundary=x\r\n\r\n--x\r\n",
    );
    const used = () => api.services.auth.keys.knows(owner.key);
    await expect.poll(used, patient).toBe(true);
    socket.destroy();
    expect((await shown(owner, 1)).requests).toMatchObject([{ route: "/v0/files", status: 499 }]);
  });

  test("switched off, nothing is written, and the page says so", async () => {
    const off = await ApiServer.start({ REQUEST_LOG: "off" });
    try {
      const owner = await off.account();
      expect((await off.send("GET", "/v0/me/settings", owner.key)).status).toBe(200);
      const { status, body } = await off.send("GET", "/console/requests", owner.key);
      expect([off.requestLog, status, body]).toMatchObject([null, 200, { kept: false, requests: [], before: null }]);
      expect((await off.database.pool.query("SELECT FROM service.request_log")).rowCount).toBe(0);
    } finally {
      await off.close();
    }
  });
});
