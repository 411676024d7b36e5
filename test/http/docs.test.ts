import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { errorTable } from "../../src/errors/errors.ts";
import { samples, sampleVariables } from "../../src/graphql/samples.ts";
import { guides } from "../../src/server/start-page.ts";
import { ApiServer } from "../setup/api-server.ts";
import { addressOf, nobody } from "../setup/nft-fixture.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

let api: ApiServer;
let key: string;
beforeAll(async () => {
  api = await ApiServer.start();
  key = (await api.account("enterprise")).key;
  await api.nfts.add([{ contract: addressOf(0xaa), tokenId: 1n, from: nobody, to: addressOf(1) }]);
});
afterAll(() => api?.close());

test("the reference has its operations, the chains of this server, and the place of the page before leads there", async () => {
  const page = String((await api.send("GET", "/docs", null)).body);
  expect(page).toContain('<article class="operation" id="post-v0-contracts-collections">');
  expect([...page.matchAll(/<option value="(\w+)">/g)].map(([, name]) => name)).toEqual(["ethereum", "goerli"]);
  const before = await fetch(`${api.url}/docs/rest`, { redirect: "manual" });
  expect([before.status, before.headers.get("location")]).toEqual([301, "/docs"]);
});

test("GraphQL documents that ask for incremental delivery are told what to do instead", async () => {
  for (const [query, fix] of [
    ["{ chains { ... @defer { name } } }", "Remove @defer"],
    ["{ chains @stream { name } }", "`first` and `after`"],
  ] as const) {
    const { body } = await api.graphql(key, query);
    expect(body.errors[0].message).toMatch(/^@\w+ is not supported: there is no incremental delivery/);
    expect(body.errors[0].extensions).toMatchObject({ code: "GRAPHQL_VALIDATION_FAILED" });
    expect(body.errors[0].extensions.fix).toContain(fix);
  }
});

test("a body that is no JSON, and a member with a wrong value, have a fix that says what to change", async () => {
  const broken = await api.send("POST", "/v0/me/keys", key, '{"name": "a",}');
  expect(broken.body.error).toMatchObject({
    code: "value_error",
    message: expect.stringMatching(/^the body is not JSON/),
  });
  expect(broken.body.error.fix).toMatch(/^Send one JSON object/);
  const paged = await api.send("GET", "/v0/nfts?chain=goerli&page_size=51", key);
  expect(paged.body.error.fix).toBe("Change page_size as the message says, and send the request again.");
  const { body } = await api.graphql(key, `{ nodes(ids: ["x"]) { id } }`);
  expect(body.errors[0].extensions.fix).toBe("Change id as the message says, and send the request again.");
});

test("GraphiQL needs no other server, and each of its tabs works", async () => {
  const response = await fetch(`${api.url}/graphql`, { headers: { Accept: "text/html" } });
  const text = await response.text();
  expect(response.status).toBe(200);
  expect(text).toContain("YogaGraphiQL.renderYogaGraphiQL");
  const outside = [...text.matchAll(/<(?:script|link)[^>]+(?:src|href)="(https?:[^"]+)"/g)].map(([, link]) => link);
  expect(outside).toEqual([]);
  // A key is typed into this page: its policy names no other host, for whatever it might load or send.
  const policy = response.headers.get("content-security-policy") ?? "";
  expect(policy).toMatch(/^default-src 'none'; /);
  expect(policy).toContain("connect-src 'self';");
  expect(policy.replaceAll(/'[a-z-]+'|\b(blob|data):/g, "")).not.toMatch(/[*:.]/);
  for (const query of samples) {
    expect(text).toContain(JSON.stringify(query).slice(1, -1));
    const variables = JSON.parse(sampleVariables(query, api.services.chains));
    const { status, body } = await api.graphql(key, query, variables);
    expect([status, body.errors], query).toEqual([200, undefined]);
  }
});

test("every error has a page, in which no markup is shown as text", async () => {
  for (const code of Object.keys(errorTable)) {
    const { status, body } = await api.send("GET", `/docs/errors/${code}`, null);
    expect(status, code).toBe(200);
    expect(String(body), code).not.toMatch(/`|\[object|undefined/);
  }
});

test("a wrong link below the pages is a page with its status for browsers, and JSON for programs and below the APIs", async () => {
  const wrong = [
    "/docs/guide/none",
    "/docs/guide/%22%3Cb%3E",
    "/docs/none",
    "/docs/errors/none",
    "/mint/goerli",
    "/console/none",
  ];
  const get = async (path: string, accept: string) => {
    const answer = await fetch(api.url + path, { headers: { Accept: accept } });
    return [answer.status, answer.headers.get("content-type"), await answer.text()] as const;
  };
  const lure = await fetch(`${api.url}/docs/guide/${"Your wallet is locked ".repeat(9)}`, {
    headers: { Accept: "text/html" },
  });
  expect([lure.status, lure.headers.get("cache-control")]).toEqual([404, "no-store"]);
  expect((await lure.text()).match(/Your wallet is locked/g)).toHaveLength(1);
  const first = await fetch(api.url, { headers: { Accept: "text/html" }, redirect: "manual" });
  expect([first.status, first.headers.get("location")]).toEqual([302, "/console"]);
  expect(JSON.parse((await get("/", "*/*"))[2])).toMatchObject({ title: "Mintyard" });
  for (const path of wrong) {
    const [status, type, page] = await get(path, "text/html,application/xhtml+xml,*/*;q=0.8");
    expect([path, status, type]).toEqual([path, 404, "text/html; charset=UTF-8"]);
    expect(page).toContain("<h1>There is no such page</h1>");
    expect(page).toMatch(
      /<p>(There is no (guide|error) &quot;(none|&quot;&lt;b&gt;)&quot;|Nothing is served at [/\w]+)\.<\/p>/,
    );
    for (const link of ["/console", "/docs", "/docs/guide"]) expect(page).toContain(`<a href="${link}">`);
    for (const accept of ["*/*", "application/json"]) {
      const [failed, json, body] = await get(path, accept);
      expect([path, failed, json, JSON.parse(body).error.code]).toEqual([path, 404, "application/json", "not_found"]);
    }
  }
  for (const path of ["/v0/none", "/v1/none", "/auth/none", "/thumbnails/256/none"])
    expect([path, (await get(path, "text/html"))[1]]).toEqual([path, "application/json"]);
  // What browsers have kept is no answer to another method.
  expect((await fetch(`${api.url}/docs`)).status).toBe(200);
  expect((await fetch(`${api.url}/docs`, { method: "POST" })).status).toBe(404);
});

test("every path of the console's router is its page", async () => {
  const router = readFileSync(join(import.meta.dirname, "../../web/console/routes.tsx"), "utf8");
  const paths = [...router.matchAll(/\bpath: "([^"]+)"/g)].map(([, path]) => path);
  expect(paths).toHaveLength(9);
  for (const path of paths) expect([path, (await fetch(`${api.url}/console${path}`)).status]).toEqual([path, 200]);
});

test("the quick start has a way in for each kind of user, and its commands work", async () => {
  const page = String((await api.send("GET", "/docs/start", null)).body);
  expect(String((await api.send("GET", "/docs", null)).body)).toContain('href="/docs/start"');
  expect(guides.map(({ anchor }) => anchor)).toEqual(["frontend", "legacy", "creator", "analyst", "operator"]);
  for (const { anchor, more } of guides) {
    expect(page).toContain(`<h2 id="${anchor}">`);
    for (const { to } of more) {
      const { status } = await fetch(api.url + to, { headers: { Accept: "text/html" } });
      expect(status, to).toBe(200);
    }
  }
  const commands = guides.flatMap(({ steps }) => steps.map(({ code }) => code)).filter((code) => code.includes("curl"));
  expect(commands).toHaveLength(5);
  const dir = temporaryFolder();
  for (const command of commands) {
    const env = { PATH: process.env["PATH"], BASE: api.url, API_KEY: key };
    const { stdout } = await promisify(execFile)("sh", ["-ec", command], { cwd: dir, env });
    expect(JSON.parse(stdout), command).not.toMatchObject({ response: "NOK" });
    expect(JSON.parse(stdout).errors, command).toBeUndefined();
  }
  await rm(dir, { recursive: true });
});

test("documents are compressed and have a tag: who has one is told so, and is not sent it again", async () => {
  for (const path of ["/docs/openapi.json", "/docs", "/docs/errors/not_found"]) {
    const ask = (headers: Record<string, string>, method = "GET") => fetch(api.url + path, { method, headers });
    const plain = await ask({ "Accept-Encoding": "identity" });
    const text = await plain.text();
    const tag = plain.headers.get("etag") ?? "";
    for (const coding of ["br", "gzip"]) {
      const packed = await ask({ "Accept-Encoding": coding });
      expect([path, packed.headers.get("content-encoding"), packed.headers.get("etag")]).toEqual([path, coding, tag]);
      expect(packed.headers.get("vary")).toBe("Accept-Encoding");
      expect(Number(packed.headers.get("content-length")) * 1.5).toBeLessThan(Buffer.byteLength(text));
      expect(await packed.text()).toBe(text);
    }
    const again = await ask({ "If-None-Match": tag });
    expect([again.status, await again.text()]).toEqual([304, ""]);
    const head = await ask({}, "HEAD");
    expect([head.status, head.headers.get("etag")]).toEqual([200, tag]);
    // Each answer has an id of its own.
    expect(plain.headers.get("x-request-id")).not.toBe(again.headers.get("x-request-id"));
  }
  expect((await fetch(`${api.url}/docs/errors/none`)).status).toBe(404);
});
