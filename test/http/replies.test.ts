import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasOwnGuide } from "../../src/errors/error-guide.ts";
import { type ErrorCode, errorTable } from "../../src/errors/errors.ts";
import { ApiServer } from "../setup/api-server.ts";

let api: ApiServer;
beforeAll(async () => {
  api = await ApiServer.start();
});
afterAll(() => api?.close());

describe("rate limits", () => {
  test("every reply to a limited key shows its bucket, at both APIs, refusals too", async () => {
    const { key } = await api.account("free");
    const first = await api.send("GET", "/v0/me/settings", key);
    expect(first.headers.get("ratelimit-limit")).toBe("20");
    expect(first.headers.get("ratelimit-remaining")).toBe("19");
    const refusal = await api.send("GET", "/v0/nfts?chain=nowhere", key);
    expect(refusal.status).toBe(422);
    expect(refusal.headers.get("ratelimit-remaining")).not.toBeNull();
    const graphql = await api.graphql(key, "{ viewer { id } }");
    expect(graphql.headers.get("ratelimit-bucket")).toBe("read");
    // On a slow machine the bucket would fill as fast as these requests come.
    await api.database.pool.query("UPDATE service.rate SET tat = tat + 100");
    const answers = await Promise.all(Array.from({ length: 60 }, () => api.send("GET", "/v0/me/settings", key)));
    const limited = answers.filter(({ status }) => status === 429);
    expect(limited.length).toBeGreaterThan(0);
    for (const { headers, body } of limited) {
      expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
      expect(headers.get("ratelimit-remaining")).toBe("0");
      expect(body.error).toMatchObject({ code: "too_many_requests", fix: expect.any(String) });
    }
    await api.database.pool.query("UPDATE service.rate SET tat = tat + 100");
    const other = await api.graphql(key, "{ viewer { id } }");
    expect(other).toMatchObject({ status: 429, body: { errors: [{ extensions: { code: "rate_limit_exceeded" } }] } });
    expect(Number(other.headers.get("retry-after"))).toBeGreaterThan(0);
  });

  test("an address that guesses keys is stopped, and keys in use behind it go on working", async () => {
    const guessed = await ApiServer.start();
    try {
      const { key } = await guessed.account("enterprise");
      const settings = async (used: string) => (await guessed.send("GET", "/v0/me/settings", used)).status;
      expect(await settings(key)).toBe(200);
      const guesses = await Promise.all(
        Array.from({ length: 100 }, async (_, guess) => {
          if (guess % 5 === 0) expect(await settings(key)).toBe(200);
          return await settings(crypto.randomUUID());
        }),
      );
      expect(new Set(guesses)).toEqual(new Set([403, 429]));
      expect(await settings(key)).toBe(200);
    } finally {
      await guessed.close();
    }
  });
});

describe("every reply", () => {
  test("has a request id, and a failure tells code, cause and what to do", async () => {
    const { key } = await api.account("enterprise");
    const paths = ["/", "/livez", "/status", "/metrics", "/docs", "/nowhere", "/v0/nowhere", "/ipfs/x", "/v0/nfts"];
    for (const path of paths) {
      const reply = await api.send("GET", path, key);
      expect(reply.headers.get("x-request-id"), path).toMatch(/^req_[0-9a-f]{24}$/);
      if (typeof reply.body !== "object" || reply.body.response !== "NOK") continue;
      const { code, message, fix, docs, request_id } = reply.body.error;
      expect(errorTable).toHaveProperty(code);
      expect((await api.send("GET", docs, null)).body).toContain(code);
      expect([message, fix, docs].every((text) => typeof text === "string" && text.length > 5)).toBe(true);
      expect(request_id).toBe(reply.headers.get("x-request-id"));
    }
    const graphql = await api.graphql(null, "{ viewer { id } }");
    expect(graphql.headers.get("x-request-id")).toBe(graphql.body.errors[0].extensions.requestId);
  });

  test("is open to browsers of any origin, without credentials, preflight included", async () => {
    const preflight = await fetch(`${api.url}/v0/files`, {
      method: "OPTIONS",
      headers: { Origin: "https://a.example", "Access-Control-Request-Method": "POST" },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-origin")).toBe("*");
    expect(preflight.headers.get("access-control-allow-headers")).toMatch(/authorization/i);
    const reply = await fetch(`${api.url}/v0/nfts`, { headers: { Origin: "https://a.example" } });
    expect(reply.headers.get("access-control-allow-origin")).toBe("*");
    expect(reply.headers.get("access-control-allow-credentials")).toBeNull();
    expect(reply.headers.get("access-control-expose-headers")).toMatch(/ratelimit-remaining/i);
  });

  test("every error code has words of its own", () => {
    expect((Object.keys(errorTable) as ErrorCode[]).filter((code) => !hasOwnGuide(code))).toEqual([]);
  });
});

describe("GraphQL documents", () => {
  test("what costs too much is refused by its real variables, and nothing of it runs", async () => {
    const { key } = await api.account("enterprise");
    const query = `query ($n: Int!) { chain(name: "goerli") { latestNfts(first: $n) { nodes { tokenId contract { name }
      owners: holders(first: 100) { nodes { owner amount } } } } } }`;
    const small = 'query ($n: Int!) { chain(name: "goerli") { latestNfts(first: $n) { nodes { tokenId } } } }';
    expect((await api.graphql(key, small, { n: 10 })).body.errors).toBeUndefined();
    const deep = `{ ${"a { ".repeat(40)} b ${"}".repeat(40)} }`;
    const bombs = [
      query,
      deep,
      `{ ${Array.from({ length: 40 }, (_, index) => `a${index}: status { database }`).join(" ")} }`,
      `{ ${"status { database } ".repeat(1_000)} }`,
      `query { ...A } fragment A on Query { ...B } fragment B on Query { ...A }`,
      `{ status ${"@include(if: true) ".repeat(200)} { database } }`,
    ];
    for (const bomb of bombs) {
      const { body } = await api.graphql(key, bomb, { n: 100 });
      expect(body.data ?? null, bomb.slice(0, 60)).toBeNull();
      expect(body.errors.length).toBeGreaterThan(0);
    }
  });

  test("what GraphQL itself complains about has a code, its cause and what to do", async () => {
    const { key } = await api.account("enterprise");
    const wrong: [query: string, code: string][] = [
      ["{ nfts(", "GRAPHQL_PARSE_FAILED"],
      ["{ contrat { name } }", "GRAPHQL_VALIDATION_FAILED"],
      ['query ($n: Int!) { chain(name: "goerli") { latestNfts(first: $n) { totalCount } } }', "value_error"],
    ];
    for (const [query, code] of wrong) {
      const [{ message, extensions }] = (await api.graphql(key, query)).body.errors;
      expect([query, extensions.code]).toEqual([query, code]);
      expect([message, extensions.cause, extensions.fix].every((text) => text?.length > 5)).toBe(true);
      expect(extensions.requestId).toMatch(/^req_/);
    }
    const refusal = (await api.graphql(key, `{ chain(name: "nowhere") { latestNfts { totalCount } } }`)).body.errors[0]
      .extensions;
    expect(refusal).toMatchObject({ cause: expect.any(String), fix: expect.any(String), docs: expect.any(String) });
    const open = (await api.graphql(key, "{ contrat { name } }")).body.errors[0].message;
    expect(open).toContain("Did you mean");
  });

  test("in production the schema is shown to callers with a key only", async () => {
    const production = await ApiServer.start({ NODE_ENV: "production", KEY_PEPPER: "of this test" });
    try {
      const { key } = await production.account("enterprise");
      const query = "{ __schema { queryType { name } } }";
      expect((await production.graphql(null, query)).body.errors[0].extensions.code).toBe("authorization_missing");
      expect((await production.graphql(key, query)).body.data.__schema.queryType.name).toBe("Query");
      expect((await production.graphql(null, "{ status { database } }")).body.data.status.database).toBe("ok");
      // Nor may it be guessed: no name that was not asked for is in a refusal.
      for (const query of [
        "{ contrat { x } }",
        "{ viewr }",
        "{ ...F } fragment F on Nftt { x }",
        "{ viewer { nam } }",
      ]) {
        const { body } = await production.graphql(null, query);
        expect(body.errors[0].message).toMatch(/^\S/);
        expect(JSON.stringify(body.errors)).not.toMatch(/did you mean|contract|"name"/i);
      }
    } finally {
      await production.close();
    }
  });
});
