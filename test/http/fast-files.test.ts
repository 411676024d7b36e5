import { afterAll, beforeAll, expect, test } from "vitest";
import { ApiServer } from "../setup/api-server.ts";
import { send } from "../setup/send.ts";

let api: ApiServer;
let cid: string;
beforeAll(async () => {
  api = await ApiServer.start();
  const { key } = await api.account("enterprise");
  const body = new FormData();
  body.append("file", new Blob(["0123456789"], { type: "text/html" }), "a.html");
  const answer = await send(`${api.url}/v0/files`, { key, body });
  cid = answer.body.ipfs_url.split("/").at(-1) ?? "";
});
afterAll(() => api?.close());

const get = (path: string, headers: Record<string, string> = {}, method = "GET") =>
  fetch(`${api.url}/ipfs/${path}`, { headers, method });

/** Without what differs from answer to answer. */
async function shownOf(answer: Response) {
  const own = new Set(["date", "x-request-id"]);
  return [answer.status, [...answer.headers].filter(([name]) => !own.has(name)).sort(), await answer.text()];
}

test("a file that is answered again before the app is the same answer, headers included", async () => {
  const first = await get(cid);
  const again = await get(cid);
  expect(again.headers.get("x-request-id")).toMatch(/^req_[0-9a-f]{24}$/);
  expect(again.headers.get("x-request-id")).not.toBe(first.headers.get("x-request-id"));
  expect(first.headers.get("access-control-allow-origin")).toBe("*");
  expect(first.headers.get("content-security-policy")).toMatch(/^sandbox;/);
  expect(await shownOf(again)).toEqual(await shownOf(first));
});

test("everything but a plain GET goes the ordinary way, before and after", async () => {
  for (let round = 0; round < 2; round += 1) {
    const range = await get(cid, { Range: "bytes=2-4" });
    expect([range.status, await range.text()]).toEqual([206, "234"]);
    expect((await get(cid, { "If-None-Match": `"${cid}"` })).status).toBe(304);
    const head = await get(cid, {}, "HEAD");
    expect([head.status, head.headers.get("content-length"), await head.text()]).toEqual([200, "10", ""]);
    expect((await get(`${cid}?format=raw`)).headers.get("content-type")).toBe("application/vnd.ipld.raw");
    expect((await get(cid, { Accept: "application/vnd.ipld.car" })).headers.get("content-type")).toMatch(/ipld\.car/);
    expect((await get(cid, { Accept: "application/x-tar" })).status).toBe(406);
    expect((await get(cid, { Accept: "application/vnd.ipfs.ipns-record" })).status).toBe(400);
    expect((await get(cid, { "Service-Worker": "script" })).status).toBe(400);
    const json = await get(cid, { Accept: "application/json", "Cache-Control": "only-if-cached" });
    expect([json.headers.get("content-location"), await json.text()]).toEqual([null, "0123456789"]);
    expect((await get(cid, {}, "POST")).status).toBe(405);
    expect(await (await get(cid)).text()).toBe("0123456789");
  }
});
