import type { Browser } from "playwright-core";
import type { Address } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, type Wallet } from "../../bin/demo-wallets.ts";
import { leaseStack } from "../setup/shared-stack.ts";
import { patient } from "../setup/wait.ts";
import { addWallet, hasBrowser, openBrowser, openPage, type WalletControl, type WatchedPage } from "./browser.ts";
import { buildPages, deploySale } from "./web-fixture.ts";

describe.skipIf(!hasBrowser)("the mint page", () => {
  const stack = leaseStack();
  let browser: Browser;
  let chain: ReturnType<typeof connect>;
  let fan: Wallet;
  let collection: Address;
  let origin: string;
  beforeAll(async () => {
    await buildPages();
    browser = await openBrowser();
    origin = new URL(stack.ready.rest).origin;
    chain = connect(stack.ready.rpcUrl ?? "", stack.ready.chainId ?? 0);
    fan = await chain.createWallet();
    collection = await deploySale(stack, fan.account.address, { supply: 4 });
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
    await page.getByRole("heading", { name: "Pages", level: 1 }).waitFor();
    await page.getByText("0 of 4 minted").waitFor();
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
