import type { Browser, Page } from "playwright-core";
import type { Address } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, type Wallet } from "../../bin/demo-wallets.ts";
import { Client } from "../setup/client.ts";
import { leaseStack } from "../setup/shared-stack.ts";
import { patient } from "../setup/wait.ts";
import { addWallet, hasBrowser, openBrowser, openPage } from "./browser.ts";
import { checkLook, type Look, looks, nameOf } from "./looks.ts";
import { buildPages, deploySale } from "./web-fixture.ts";

/** Of a guide: each is decoded, and one that does not load fails. */
async function seePictures(page: Page): Promise<void> {
  const widths = await page.evaluate(async () => {
    const pictures = [...document.querySelectorAll<HTMLImageElement>("main img")];
    for (const picture of pictures) picture.loading = "eager";
    await Promise.all(pictures.map((picture) => picture.decode()));
    return pictures.map(({ naturalWidth }) => naturalWidth);
  });
  expect(widths.length).toBeGreaterThan(2);
  for (const width of widths) expect(width).toBeGreaterThan(300);
}

describe.skipIf(!hasBrowser)("every page", () => {
  const stack = leaseStack();
  let browser: Browser;
  let origin: string;
  let owner: Address;
  let collection: Address;
  /** The key of an account that has done nothing yet. */
  let newcomer: string;
  beforeAll(async () => {
    await buildPages();
    browser = await openBrowser();
    origin = new URL(stack.ready.rest).origin;
    owner = (await connect(stack.ready.rpcUrl ?? "", stack.ready.chainId ?? 0).createWallet()).account.address;
    collection = await deploySale(stack, owner, { name: "Pictures", supply: 50 });
    newcomer = String((await new Client(stack.ready).json("/signup", { name: "Pictures" })).body["api_key"]);
  });
  afterAll(async () => {
    await browser?.close();
  });

  interface Shown {
    name: string;
    path: string;
    /** Text that is there when the page has all it shows. */
    ready: string | RegExp;
    signedIn: boolean;
    /** What the browser keeps of a launch that is not done. */
    draft?: Record<string, unknown>;
    /** Before the page is loaded. */
    before?: (page: Page) => Promise<unknown>;
    /** What a visitor does before the picture. */
    act?: (page: Page) => Promise<unknown>;
    /** Another account than the one with collections. */
    key?: string;
  }
  const showAddress = async (page: Page) => {
    await page.getByLabel("Address").fill(collection);
    await page.getByRole("button", { name: "Show" }).click();
  };
  const connectTestWallet = (page: Page) => page.getByRole("button", { name: /^Test wallet/ }).click();
  const mintOne = async (page: Page) => {
    await connectTestWallet(page);
    await page.getByRole("button", { name: "Mint 1" }).click();
  };
  const openSettings = async (page: Page) => {
    await page.getByLabel("Royalties, per cent").fill("7.5");
    await page.getByRole("button", { name: "Check the change" }).click();
  };
  // The keyboard chooses a tab, and every example has it; a filter leaves what has its words.
  const useReference = async (page: Page) => {
    const first = page.locator("#post-v0-files");
    await first.getByRole("tab", { name: "curl" }).press("ArrowRight");
    expect(await first.getByRole("tab", { selected: true }).textContent()).toBe("GraphQL");
    await page.getByLabel("Key", { exact: true }).fill("mty_live_reader");
    await page.getByLabel("Wallet", { exact: true }).fill(owner);
    const closed = page.locator("details.side:not([open]) > summary");
    if ((await closed.count()) > 0) await closed.click();
    await page.getByLabel("Filter", { exact: true }).fill("deploy a collection");
    const example = page.locator("#post-v0-contracts-collections");
    await example.getByRole("tab", { name: "TypeScript" }).click();
    const text = await example.getByRole("tabpanel").textContent();
    expect(text).toContain(`createClient({ url: "${origin}", key: "mty_live_reader" })`);
    expect(text).toContain(`owner_address: "${owner}"`);
    expect(await first.isVisible()).toBe(false);
    await page.getByLabel("Wallet", { exact: true }).fill("'; rm -rf .");
    expect(await example.getByRole("tabpanel").textContent()).not.toContain("rm -rf");
    for (const summary of await example.locator("summary").all()) await summary.click();
  };
  const draft = (step: number) => ({
    ...{
      step,
      chain: "goerli",
      name: "Garden",
      symbol: "GRD",
      supply: 3,
      perMint: "2",
      baseUri: "ipfs://bafybeigarden/",
    },
    ...{ publicStart: "2034-06-01T12:00", presaleStart: "2034-05-31T12:00", allowlist: `${owner}\nnobody` },
    ...{ owner, treasury: owner },
  });
  const pages = (): Shown[] => {
    const [mint, own] = [`/mint/goerli/${collection}`, `/console/collections/goerli/${collection}`];
    return [
      { name: "mint", path: mint, ready: "of 50 minted", signedIn: false },
      {
        name: "mint-wallet",
        path: mint,
        ready: "Disconnect",
        signedIn: false,
        act: connectTestWallet,
      },
      { name: "mint-done", path: mint, ready: "Here is your token", signedIn: false, act: mintOne },
      {
        name: "guide",
        path: "/docs/guide/console",
        ready: "They load nothing from elsewhere",
        signedIn: false,
        act: seePictures,
      },
      { name: "reference", path: "/docs", ready: "Your values", signedIn: false, act: useReference },
      { name: "sign-in", path: "/console", ready: "With a wallet", signedIn: false },
      { name: "overview", path: "/console", ready: "of 50 minted", signedIn: true },
      { name: "launch", path: "/console/launch", ready: "Drop a folder here", signedIn: true },
      { name: "launch-collection", path: "/console/launch", ready: "Symbol", signedIn: true, draft: draft(1) },
      {
        name: "launch-sale",
        path: "/console/launch",
        ready: "row without an address",
        signedIn: true,
        draft: draft(2),
      },
      { name: "launch-money", path: "/console/launch", ready: "Treasury", signedIn: true, draft: draft(3) },
      {
        name: "launch-deploy",
        path: "/console/launch",
        ready: "Cost of the deployment",
        signedIn: true,
        draft: draft(4),
      },
      { name: "collection", path: own, ready: "To withdraw", signedIn: true },
      { name: "developer", path: `${own}/developer`, ready: "Calls for this collection", signedIn: true },
      {
        name: "change",
        path: `${own}/settings`,
        ready: "The chain would take this.",
        signedIn: true,
        act: openSettings,
      },
      { name: "activity", path: `${own}/activity`, ready: "Deployed", signedIn: true },
      { name: "data", path: "/console/data", ready: /holders? of/, signedIn: true, act: showAddress },
      { name: "webhooks", path: "/console/webhooks", ready: "New endpoint", signedIn: true },
      { name: "account", path: "/console/account", ready: "Keys and sessions", signedIn: true },
      { name: "design", path: "/console/design", ready: "What is shown", signedIn: true },
      { name: "operator", path: "/console/operator", ready: "blocks behind its node", signedIn: true },
    ];
  };

  /** The same pages while there is nothing to show, not yet, or no more. */
  const states = (): Shown[] => {
    const mint = `/mint/goerli/${collection}`;
    const hang = (path: string) => async (page: Page) => await page.route(path, () => new Promise(() => undefined));
    const loseServer = (seen: string) => async (page: Page) => {
      await page.getByText(seen).first().waitFor();
      await page.context().setOffline(true);
    };
    const [unknown, noAnswer] = [`0x${"77".repeat(20)}`, "The server does not answer."];
    return [
      { name: "mint-loading", path: mint, ready: "One moment.", signedIn: false, before: hang("**/sale") },
      { name: "mint-unknown", path: `/mint/goerli/${unknown}`, ready: "No collection here", signedIn: false },
      { name: "mint-offline", path: mint, ready: noAnswer, signedIn: false, act: loseServer("of 50 minted") },
      {
        ...{ name: "overview-loading", path: "/console", ready: "Loading your collections", signedIn: true },
        before: hang("**/v0/me/contracts/collections*"),
      },
      { name: "overview-empty", path: "/console", ready: "Read data", signedIn: true, key: newcomer },
      { name: "overview-offline", path: "/console", ready: noAnswer, signedIn: true, act: loseServer("of 50 minted") },
      {
        ...{ name: "broken", path: "/console/operator", ready: "This page cannot be shown", signedIn: true },
        before: async (page) => await page.route("**/assets/operator-*.js", (route) => route.abort("connectionfailed")),
      },
      {
        ...{ name: "not-yours", path: `/console/collections/goerli/${unknown}`, ready: "Not your collection" },
        signedIn: true,
      },
    ];
  };

  for (const look of looks)
    test(`has no finding of axe at ${nameOf(look)} pixels and fits its width`, async () => {
      const { page, complaints, close } = await openPage(browser, origin, { ...look, height: 800 });
      page.setDefaultTimeout(patient.timeout / 5);
      // They look alike in every width.
      const shown = look.width === 360 ? [...pages(), ...states()] : pages();
      for (const { name, path, ready, signedIn, draft: kept, before, act, key = stack.ready.apiKey } of shown) {
        // Any answer of the server: what the browser keeps is the origin's.
        await page.goto(`${origin}/livez`);
        await page.evaluate(
          ([key, launch]) => {
            if (key) sessionStorage.setItem("mintyard-key", key);
            else sessionStorage.clear();
            if (launch) localStorage.setItem("mintyard-launch", launch);
            else localStorage.clear();
          },
          [signedIn ? key : "", kept ? JSON.stringify(kept) : ""],
        );
        await before?.(page);
        await page.goto(origin + path);
        await act?.(page);
        await page.getByText(ready).first().waitFor();
        // Pages that wait for something ask again and again.
        if (before === undefined) await page.waitForLoadState("networkidle");
        // A guide is long, and its beginning shows how all of it looks.
        await checkLook(page, name, look, { fullPage: name !== "guide" });
        await page.unrouteAll({ behavior: "ignoreErrors" });
        await page.context().setOffline(false);
      }
      // What is not in the index yet is asked for too; without a server a browser complains of each request.
      const expected =
        look.width === 360 ? /status of 404|ERR_(INTERNET_DISCONNECTED|CONNECTION_FAILED)/ : /status of 404/;
      expect(complaints.filter((text) => !expected.test(text))).toEqual([]);
      await close();
    });

  test("a listed wallet mints in the presale, another one is told why not and mints when the public sale opens", async () => {
    const chainId = stack.ready.chainId ?? 0;
    const rpcUrl = stack.ready.rpcUrl ?? "";
    const { createWallet, node } = connect(rpcUrl, chainId);
    const [listed, other] = [await createWallet(), await createWallet()];
    const presale = await deploySale(stack, listed.account.address, {
      ...{ name: "Presale", supply: 9, presaleIn: -60_000, publicIn: 40_000 },
      listed: [listed.account.address, `0x${"77".repeat(20)}`],
    });
    const visit = async (wallet: Wallet, look: Look) => {
      const watched = await openPage(browser, origin, look);
      watched.page.setDefaultTimeout(patient.timeout);
      await addWallet(watched, wallet, rpcUrl, chainId);
      await watched.page.goto(`${origin}/mint/goerli/${presale}`);
      await watched.page.getByText("The public sale opens in").waitFor();
      await watched.page.getByRole("button", { name: "Own wallet" }).click();
      return watched;
    };
    const waiting = await visit(other, { width: 768, dark: true });
    await waiting.page.getByText("Only listed wallets can mint in the presale.").waitFor();
    expect(await waiting.page.getByRole("button", { name: /^Mint/ }).count()).toBe(0);
    await checkLook(waiting.page, "not-listed", { width: 768, dark: true });

    const early = await visit(listed, { width: 360, dark: false });
    await early.page.getByText("This wallet is on the presale list.").waitFor();
    await early.page.locator(".sum dd").first().getByText("0.005 ETH").waitFor();
    await early.page.getByRole("button", { name: "Mint 1" }).click();
    await early.page.getByRole("heading", { name: "Here is your token" }).waitFor();
    await early.page.getByText("This wallet has used its one presale mint.").waitFor();
    expect(await node.getBalance({ address: presale })).toBe(5_000_000_000_000_000n);

    // Nobody loads the page again: the countdown ends, and the button is there.
    await waiting.page.locator(".sum dd").first().getByText("0.01 ETH").waitFor();
    await waiting.page.getByRole("button", { name: "Mint 1" }).click();
    await waiting.page.getByRole("heading", { name: "Here is your token" }).waitFor();
    expect(await node.getBalance({ address: presale })).toBe(15_000_000_000_000_000n);
    for (const { complaints, close } of [waiting, early]) {
      expect(complaints).toEqual([]);
      await close();
    }
  });

  test("the test wallet exists on local chains, for pages of this server, for what a page asks", async () => {
    const ask = (body: object, headers: Record<string, string> = {}) =>
      fetch(`${origin}/local-wallet/goerli`, { method: "POST", body: JSON.stringify(body), headers });
    const { result } = (await (await ask({ method: "eth_accounts" })).json()) as { result: string[] };
    expect(result).toHaveLength(5);
    expect((await ask({ method: "hardhat_setBalance", params: [] })).status).toBe(422);
    expect((await ask({ method: "eth_accounts" }, { Origin: "http://other.example" })).status).toBe(404);
    // The node's first account pays for relayers, and is not shown.
    const [shown = ""] = result;
    const hidden = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
    expect(result.map((address) => address.toLowerCase())).not.toContain(hidden.toLowerCase());
    expect((await ask({ method: "personal_sign", params: ["0x12", hidden] })).status).toBe(422);
    expect(
      (await ask({ method: "eth_sendTransaction", params: [{ from: hidden, to: shown, value: "0x1" }] })).status,
    ).toBe(422);
    expect((await ask({ method: "eth_sendTransaction", params: [{ to: shown, value: "0x1" }] })).status).toBe(422);
    expect((await ask({ method: "personal_sign", params: ["0x12", shown] })).status).toBe(200);
  });
});
