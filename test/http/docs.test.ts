import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
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

test("the REST explorer comes whole from this server, and its policy lets it load nothing else", async () => {
  const page = await api.send("GET", "/docs/rest", null);
  expect(page.headers.get("content-security-policy")).toMatch(/^default-src 'none'; script-src 'self';/);
  const links = [...String(page.body).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link ?? "");
  expect(links).toHaveLength(4);
  for (const link of links) {
    expect(link).toMatch(/^\/docs\/rest\//);
    const { status, headers } = await api.send("GET", link, null);
    expect([status, headers.get("content-type")?.includes("html")], link).toEqual([200, false]);
  }
  expect(String((await api.send("GET", "/docs/rest/start.js", null)).body)).toContain("/docs/openapi.json");
  for (const name of ["package.json", "..%2f..%2fpackage.json", "index.html", "constructor"])
    expect((await api.send("GET", `/docs/rest/${name}`, null)).status).toBe(404);
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
  for (const path of ["/docs/openapi.json", "/docs", "/docs/rest/swagger-ui-bundle.js", "/docs/errors/not_found"]) {
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
