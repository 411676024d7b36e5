import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { drawImage } from "../../bin/demo-images.ts";
import { createClient } from "../../client/src/client.ts";
import { ApiServer } from "../setup/api-server.ts";
import { addressOf, nobody } from "../setup/nft-fixture.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { patient } from "../setup/wait.ts";
import { hasBrowser, openBrowser, openPage } from "../web/browser.ts";

const root = join(import.meta.dirname, "../..");
const contract = addressOf(0xa1);
const types: Record<string, string> = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };

/** A server of files that knows nothing of the service: the page asks it from another origin. */
async function serve(folder: string): Promise<Server> {
  const server = createServer((request, response) => {
    const path = request.url === "/" ? "/index.html" : (request.url ?? "");
    readFile(join(folder, path)).then(
      (bytes) => response.writeHead(200, { "Content-Type": types[extname(path)] ?? "text/plain" }).end(bytes),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  return server;
}

describe.skipIf(!hasBrowser)("the storefront", () => {
  const dir = temporaryFolder();
  let api: ApiServer;
  let browser: Browser;
  const servers: Server[] = [];
  beforeAll(async () => {
    [api, browser] = await Promise.all([ApiServer.start({ RATE_LIMITS: "off" }), openBrowser()]);
  });
  afterAll(async () => {
    await browser?.close();
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
    await api?.close();
  });

  /** Builds the page by the command of its README. @returns its address. */
  async function build(key: string): Promise<string> {
    const settings = { URL: api.url, KEY: key, CHAIN: "goerli", CONTRACT: contract };
    const env = Object.fromEntries(Object.entries(settings).map(([name, value]) => [`VITE_MINTYARD_${name}`, value]));
    const folder = join(dir, key);
    const vite = [join(root, "node_modules/vite/bin/vite.js"), "build", "examples/storefront", "--logLevel", "error"];
    execFileSync(process.execPath, [...vite, "--outDir", folder, "--emptyOutDir"], {
      cwd: root,
      env: { ...process.env, NODE_ENV: "production", ...env },
    });
    const server = await serve(folder);
    servers.push(server);
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  test("shows the tokens with pictures and traits, page by page, and who got them", async () => {
    const { key: admin } = await api.account("enterprise");
    const mintyard = createClient({ url: api.url, key: admin });
    const { api_key: key } = await mintyard.post("/v0/me/keys", { body: { name: "page", scopes: ["read"] } });
    const picture = new Blob([new Uint8Array(drawImage(7))], { type: "image/png" });
    const cid = (await mintyard.uploadFile(picture, "7.png")).ipfs_url.split("/").at(-1);
    const ids = Array.from({ length: 30 }, (_, at) => at);
    await api.nfts.add(ids.map((id) => ({ contract, tokenId: BigInt(id), from: nobody, to: addressOf(0x0b) })));
    await api.nfts.add([{ contract, tokenId: 7n, from: addressOf(0x0b), to: addressOf(0x0c) }]);
    const hostile = "<img src=x onerror=alert(1)>";
    const documents = ids.map((id) => {
      const name = id === 3 ? hostile : `Key #${id}`;
      const attributes = [{ trait_type: "Metal", value: id % 2 ? "Brass" : "Iron" }];
      const image = id === 4 ? "javascript:alert(1)" : `ipfs://${cid}`;
      return { id, name, image, metadata: JSON.stringify({ name, image, attributes }) };
    });
    await api.database.db
      .insertInto("service.token_metadata")
      .values(
        documents.map(({ id, name, image, metadata }) => ({
          ...{ chain_id: 31337, contract: Buffer.alloc(20, 0xa1), token_id: String(id), status: "fresh" as const },
          ...{ name, image, metadata, token_uri: `ipfs://${cid}/${id}` },
        })),
      )
      .execute();
    const named = { name: "Keys", symbol: "KEY", status: "fresh" as const };
    await api.database.db
      .insertInto("service.contract_metadata")
      .values({ chain_id: 31337, address: Buffer.alloc(20, 0xa1), ...named })
      .execute();

    const origin = await build(key);
    const watched = await openPage(browser, origin);
    const { page } = watched;
    page.setDefaultTimeout(patient.timeout / 5);
    await page.goto(origin);
    await page.getByRole("heading", { name: "Keys" }).waitFor();
    const cards = page.locator("#tokens > li");
    expect(await cards.count()).toBe(24);
    const seventh = cards.filter({ hasText: "Key #7" });
    expect(await seventh.textContent()).toContain("MetalBrassOwner0x0c0c…0c0c");
    await page.waitForFunction(() => document.querySelector<HTMLImageElement>("#tokens img")?.naturalWidth);
    expect(await page.getByText(hostile).count()).toBe(1);
    expect(await cards.filter({ hasText: "Key #4" }).locator("img").count()).toBe(0);
    expect(await page.locator("#transfers > li").first().textContent()).toMatch(/^#7 went to 0x0c0c…0c0c/);
    await page.getByRole("button", { name: "More tokens" }).click();
    await cards.nth(29).waitFor();
    expect(await page.getByRole("button", { name: "More tokens" }).count()).toBe(0);
    const own = watched.complaints.filter((complaint) => complaint !== `request to ${api.url}`);
    expect(own).toEqual([]);
    await watched.close();
  });

  test("says what to do, and which request it was, where the service refuses", async () => {
    const origin = await build("wrong-key");
    const watched = await openPage(browser, origin);
    watched.page.setDefaultTimeout(patient.timeout / 5);
    await watched.page.goto(origin);
    const notice = watched.page.getByRole("status").filter({ hasText: "(request " });
    await notice.waitFor();
    expect(await notice.textContent()).toMatch(/key/i);
    await watched.close();
  });
});
