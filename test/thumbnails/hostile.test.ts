import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ApiServer } from "../setup/api-server.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { askUntilMade, upload } from "./ask.ts";
import { hostilePictures, innocent, plain, webpSize } from "./pictures.ts";

let api: ApiServer;
let key: string;
const asked: string[] = [];
const outside = createServer((request, response) => {
  asked.push(request.url ?? "");
  response.end();
});
beforeAll(async () => {
  api = await ApiServer.start({ RATE_LIMITS: "off" });
  ({ key } = await api.account("enterprise"));
  await new Promise<void>((ready) => outside.listen(0, "127.0.0.1", ready));
});
afterAll(async () => {
  outside.close();
  await api?.close();
});

test("hostile files cost a refusal each: none is fetched for, no secret is shown, and the service goes on", async () => {
  const file = join(temporaryFolder(), "secret.png");
  writeFileSync(file, await plain(400, 400, "#00ff00").png().toBuffer());
  const url = `http://127.0.0.1:${(outside.address() as AddressInfo).port}`;
  const shown = Buffer.from(await (await askUntilMade(api, `256/${await upload(api, key, innocent)}`)).arrayBuffer());
  const pictures = await hostilePictures({ url, file });
  expect(pictures.length).toBeGreaterThanOrEqual(45);
  for (const [name, fate, bytes] of pictures) {
    const answer = await askUntilMade(api, `256/${await upload(api, key, bytes)}`);
    const body = Buffer.from(await answer.arrayBuffer());
    const was = answer.status === 200 ? "made" : "refused";
    expect([name, answer.status], body.toString().slice(0, 200)).toEqual([name, was === "made" ? 200 : 422]);
    if (fate !== "either") expect([name, was]).toEqual([name, fate]);
    if (was === "made") expect(webpSize(body).width, name).toBeLessThanOrEqual(256);
    else expect(answer.headers.get("cache-control")).toBe("no-store");
    // Of what it refers to nothing is in the preview.
    if (was === "made" && bytes.includes("://") && bytes.includes(file.slice(1)))
      expect([name, body.equals(shown)]).toEqual([name, true]);
    if (was === "made" && bytes.includes(url)) expect([name, body.equals(shown)]).toEqual([name, true]);
  }
  expect(asked).toEqual([]);
  expect((await fetch(`${api.url}/readyz`)).status).toBe(200);
  const good = await upload(api, key, await plain(333, 333).png().toBuffer());
  expect((await askUntilMade(api, `256/${good}`)).status).toBe(200);
});
