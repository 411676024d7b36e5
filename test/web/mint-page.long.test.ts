import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, Locator } from "playwright-core";
import type { Address } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, type Wallet } from "../../bin/demo-wallets.ts";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { Client } from "../setup/client.ts";
import { leaseStack } from "../setup/shared-stack.ts";
import { patient } from "../setup/wait.ts";
import { addWallet, hasBrowser, openBrowser, openPage, type WalletControl, type WatchedPage } from "./browser.ts";
import { enterOn } from "./keyboard.ts";
import { checkLook } from "./looks.ts";
import { buildPages, deploySale, storeFile } from "./web-fixture.ts";

/** A GIF of one pixel that turns from black to white, once. */
function drawBlinking(): Buffer {
  const frame = (colour: string) => `21f904000a000000${"2c00000000010001000002024"}${colour}0100`;
  return Buffer.from(`474946383961010001008000${"00000000ffffff"}${frame("4")}${frame("c")}3b`, "hex");
}

describe.skipIf(!hasBrowser)("the mint page", () => {
  const stack = leaseStack();
  let browser: Browser;
  let chain: ReturnType<typeof connect>;
  let fan: Wallet;
  let collection: Address;
  let origin: string;
  /** A second and a half of VP8, as a browser records it. */
  let film: Buffer;
  beforeAll(async () => {
    await buildPages();
    browser = await openBrowser();
    origin = new URL(stack.ready.rest).origin;
    chain = connect(stack.ready.rpcUrl ?? "", stack.ready.chainId ?? 0);
    fan = await chain.createWallet();
    film = await readFile(join(import.meta.dirname, "../fixtures/film.webm"));
    const document = { animation_url: `ipfs://${await storeFile(new Client(stack.ready), "film.webm", film)}` };
    collection = await deploySale(stack, fan.account.address, { supply: 4, document });
  });
  afterAll(async () => {
    await browser?.close();
  });

  async function visit(address = collection): Promise<WatchedPage & { wallet: WalletControl }> {
    const watched = await openPage(browser, origin);
    watched.page.setDefaultTimeout(patient.timeout / 5);
    const wallet = await addWallet(watched, fan, stack.ready.rpcUrl ?? "", stack.ready.chainId ?? 0);
    await watched.page.goto(`${origin}/mint/goerli/${address}`);
    return { ...watched, wallet };
  }

  /** It is loaded, and goes on. */
  async function seeFilm(film: Locator): Promise<void> {
    const at = () => film.evaluate((video: HTMLVideoElement) => [video.readyState >= 2, video.currentTime > 0]);
    await expect.poll(at, patient).toEqual([true, true]);
    const attributes = ["controls", "loop", "playsinline"];
    const has = await film.evaluate((video, names) => names.map((name) => video.hasAttribute(name)), attributes);
    expect(has).toEqual([true, true, true]);
    expect(await film.evaluate(({ muted, preload }: HTMLVideoElement) => [muted, preload])).toEqual([true, "none"]);
  }

  /** Bytes that a page loads before it starts. */
  async function weightOf(html: string, encoding: "br" | "gzip"): Promise<number> {
    const files = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, file]) => file ?? "");
    expect(files.length).toBeGreaterThan(1);
    let bytes = 0;
    for (const file of files) {
      const { headers } = await fetch(origin + file, { headers: { "Accept-Encoding": encoding } });
      expect(headers.get("cache-control")).toContain("immutable");
      bytes += Number(headers.get("content-length"));
    }
    return bytes;
  }

  test("shows the collection, mints one, and shows the token only when a block has it", async () => {
    const { page, wallet, complaints, close } = await visit();
    const films: string[] = [];
    page.on("request", (request) => {
      if (request.resourceType() === "media") films.push(new URL(request.url()).pathname);
    });
    await page.getByRole("heading", { name: "Pages", level: 1 }).waitFor();
    await page.getByText("0 of 4 minted").waitFor();
    // Nothing moves, and no film is loaded, before a visitor wants to see it.
    await page.getByRole("button", { name: "Play: animation of Pages" }).waitFor();
    await page.getByRole("img", { name: "A token of Pages" }).waitFor();
    expect([await page.locator("video").count(), films]).toEqual([0, []]);
    await enterOn(page, "Play: animation of Pages");
    await seeFilm(page.locator(".picture video"));
    await checkLook(page, "playing", { width: 1280, dark: false });
    await page.keyboard.press("Enter");
    await page.getByRole("img", { name: "A token of Pages" }).waitFor();
    expect(await page.locator("video").count()).toBe(0);
    // Everything that a visitor decides by is there before a wallet is asked for anything.
    await page.locator(".price").getByText("0.01 ETH").waitFor();
    await page.getByText("up to 3 in one mint").waitFor();
    await page.getByRole("button", { name: "One more" }).click();
    await page.locator(".sum dd").first().getByText("0.02 ETH").waitFor();
    await page
      .locator(".sum dd")
      .nth(1)
      .getByText(/^about 0\.0+\d{1,2} ETH$/)
      .waitFor();
    await page.getByRole("button", { name: "One less" }).click();
    await page.getByText("There are never more than 4 tokens.").waitFor();
    await page.getByText("The price stays as it is.").waitFor();
    await page.getByText("Pictures and metadata: they are revealed later.").waitFor();
    const money = page.getByRole("listitem").filter({ hasText: "goes to the treasury" });
    expect(await money.textContent()).toContain(fan.account.address);
    expect(await page.getByRole("button", { name: /^Mint/ }).count()).toBe(0);
    // On another network there is a button that works, and none that does not.
    wallet.chainId = 1;
    await page.getByRole("button", { name: "Own wallet" }).click();
    await page.getByText("Your wallet is on another network").waitFor();
    expect(await page.getByRole("button", { name: /^Mint/ }).count()).toBe(0);
    await page.getByRole("button", { name: "Switch to goerli" }).click();
    // Said no to, nothing was sent, and the button is there again.
    wallet.answer = "no";
    await page.getByRole("button", { name: "Mint 1" }).click();
    await page.getByText("You declined in your wallet. Nothing was sent and nothing was paid.").waitFor();
    wallet.answer = "yes";
    await page.getByRole("button", { name: "Mint 1" }).click();
    await page.getByRole("heading", { name: "Here is your token" }).waitFor();
    await page.getByText("Token 0").waitFor();
    await page.getByText("1 of 4 minted").waitFor();
    await page.getByRole("button", { name: "Play: animation of Pages key" }).click();
    await seeFilm(page.locator(".tokens video"));
    expect(new Set(films).size).toBe(1);
    expect(complaints).toEqual([]);
    await close();
  });

  test("plays what moves, and loads no animation that could run scripts or lies elsewhere", async () => {
    const client = new Client(stack.ready);
    const html = await storeFile(client, "page.html", "<!DOCTYPE html><script>fetch('//elsewhere.example')</script>");
    const broken = await storeFile(client, "broken.webm", film.subarray(0, 200));
    const gif = await storeFile(client, "blink.gif", drawBlinking());
    const tokens = [
      { animation_url: `ipfs://${html}` },
      {
        animation_url: "javascript:fetch('http://elsewhere.example/')",
        attributes: [
          null,
          { trait_type: "Eyes", value: "<b>blue</b>" },
          { trait_type: "Age", value: 7 },
          { value: {} },
        ],
      },
      { animation_url: "data:text/html,<script>location='http://elsewhere.example/'</script>" },
      { animation_url: "http://elsewhere.example/film.mp4" },
      { animation_url: `ipfs://${broken}` },
      { image: `ipfs://${gif}` },
    ];
    const documents = tokens.map((token, id): [string, Blob, string] => {
      const text = JSON.stringify({ name: `Token of a stranger ${id}`, description: "Hostile.", ...token });
      return ["metadata_files", new Blob([text]), `${id}.json`];
    });
    const { body } = await client.form("/metadata/directory", documents);
    const baseUri = String(body["metadata_directory_ipfs_uri"]);
    const hostile = await deploySale(stack, fan.account.address, { supply: 6, perMint: 6, baseUri });
    const { page, complaints, close } = await visit(hostile);
    await page.getByText("These tokens have an interactive part").waitFor();
    await page.getByRole("button", { name: "Own wallet" }).click();
    await page.getByLabel(/^How many/).fill("6");
    const looked = page.waitForResponse((answer) => answer.url().endsWith(html) && answer.status() === 206);
    await page.getByRole("button", { name: "Mint 6" }).click();
    const tokenOf = (id: number) => page.getByRole("listitem").filter({ hasText: `Token of a stranger ${id}` });
    // Those that a visitor may play.
    for (const id of [4, 5]) await tokenOf(id).getByRole("button", { name: "Play" }).waitFor();
    for (const id of tokens.keys()) await tokenOf(id).waitFor();
    await (await looked).finished();
    await tokenOf(1).getByText("Eyes: <b>blue</b>").waitFor();
    await tokenOf(1).getByText("Age: 7").waitFor();
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Share it" }).click();
    await page.getByText("Copied").waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    expect(copied).toMatch(new RegExp(`^I minted 6 tokens of .+: ${origin}/mint/goerli/${hostile}$`, "i"));
    expect(await page.getByRole("button", { name: /^(Play|Stop)/ }).count()).toBe(2);
    await checkLook(page, "animated-tokens", { width: 1280, dark: false });
    await tokenOf(4).getByRole("button", { name: "Play" }).click();
    await tokenOf(4).getByRole("button", { name: "Did not play, try again" }).waitFor();
    const picture = tokenOf(5).locator("img");
    expect(await picture.getAttribute("src")).toBe(`/thumbnails/128/${gif}?still=true`);
    await tokenOf(5).getByRole("button", { name: "Play" }).click();
    await tokenOf(5).getByRole("button", { name: "Stop" }).waitFor();
    expect(await picture.getAttribute("src")).toBe(`/ipfs/${gif}`);
    await tokenOf(5).getByRole("button", { name: "Stop" }).click();
    await tokenOf(5).getByRole("button", { name: "Play" }).waitFor();
    expect(await picture.getAttribute("src")).toBe(`/thumbnails/128/${gif}?still=true`);
    expect(await page.locator("video, audio, iframe, object, embed").count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  });

  test("sells to two wallets of one phone by touch alone", async () => {
    const other = await chain.createWallet();
    const wide = await deploySale(stack, fan.account.address, { name: "Touch" });
    const watched = await openPage(browser, origin, { width: 360, height: 740, phone: true });
    const { page, complaints, close } = watched;
    page.setDefaultTimeout(patient.timeout / 5);
    const buyers = { "First wallet": fan, "Second wallet": other };
    for (const [name, wallet] of Object.entries(buyers))
      await addWallet(watched, wallet, stack.ready.rpcUrl ?? "", stack.ready.chainId ?? 0, name);
    await page.goto(`${origin}/mint/goerli/${wide}`);
    let taps = 0;
    const tap = async (name: string) => {
      await page.getByRole("button", { name, exact: true }).tap();
      taps += 1;
    };
    const needed: Record<string, number> = {};
    for (const [id, name] of Object.keys(buyers).entries()) {
      taps = 0;
      if (id > 0) await tap("Disconnect");
      await tap(name);
      await tap("Mint 1");
      await page.getByText(`Token ${id}`, { exact: true }).waitFor();
      needed[name] = taps;
    }
    expect(needed).toEqual({ "First wallet": 2, "Second wallet": 3 });
    console.info(`taps to buy, beside those in the wallets: ${JSON.stringify(needed)}`);
    const ownerOf = { address: wide, abi: collectionAbi, functionName: "ownerOf" } as const;
    const owners = [0n, 1n].map((id) => chain.node.readContract({ ...ownerOf, args: [id] }));
    expect(await Promise.all(owners)).toEqual([fan.account.address, other.account.address]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  });

  test("says sold out when the last tokens go while the visitor signs", async () => {
    const { page, wallet, complaints, close } = await visit();
    await page.getByRole("button", { name: "Own wallet" }).click();
    await page.getByLabel(/^How many/).fill("3");
    const other = await chain.createWallet();
    wallet.beforeSend = async () => {
      const hash = await other.sendTransaction({
        to: collection,
        data: `0xa0712d68${"3".padStart(64, "0")}`,
        value: 30_000_000_000_000_000n,
      });
      await chain.node.waitForTransactionReceipt({ hash });
    };
    await page.getByRole("button", { name: "Mint 3" }).click();
    const refusal = page.locator("[data-refusal]");
    await refusal.waitFor();
    expect(await refusal.getAttribute("data-refusal")).toMatch(/^(failed|sold-out)$/);
    expect(await page.getByRole("heading", { name: /Here (is|are) your/ }).count()).toBe(0);
    await page.getByText("All tokens of this sale are minted.").waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test("names an address without a collection, and weighs little", async () => {
    const answer = await fetch(`${origin}/mint/goerli/0x${"12".repeat(20)}`);
    expect(answer.headers.get("content-type")).toMatch(/^text\/html/);
    expect(answer.status).toBe(404);
    const html = await (await fetch(`${origin}/mint/goerli/${collection}`)).text();
    expect(html).toContain('<meta property="og:title" content="Pages – mint" />');
    expect(html).toContain('<meta property="og:description" content="Opens a page." />');
    expect(html).toMatch(/<meta property="og:image" content="http:\/\/127\.0\.0\.1:\d+\/ipfs\/\w+" \/>/);
    expect(await weightOf(html, "gzip")).toBeLessThan(60 * 1024);
    expect(await weightOf(html, "br")).toBeLessThan(25 * 1024);
    // What every page of the console loads; the code of the others comes with them.
    const console = await (await fetch(`${origin}/console`)).text();
    expect(await weightOf(console, "br")).toBeLessThan(120 * 1024);
  });
});
