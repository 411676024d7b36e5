import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import type { Address } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect } from "../../bin/demo-wallets.ts";
import { patient } from "../setup/poll-timeout.ts";
import { type LeasedStack, leaseStack } from "../setup/shared-stack.ts";
import { addWallet, hasBrowser, openBrowser, openPage } from "./browser.ts";
import { buildPages, deploySale } from "./web-fixture.ts";

const pictures = join(import.meta.dirname, "../../docs/pictures");
const widths = [360, 768, 1280];
const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** What axe finds wrong with a page, one line each. */
async function findings(page: Page): Promise<string[]> {
  await page.evaluate(await readFile(axe, "utf8"));
  return await page.evaluate(async () => {
    interface Found {
      violations: { id: string; nodes: { html: string }[] }[];
    }
    const { violations } = await (globalThis as unknown as { axe: { run(): Promise<Found> } }).axe.run();
    return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`);
  });
}

describe.skipIf(!hasBrowser)("every page", () => {
  let stack: LeasedStack;
  let browser: Browser;
  let origin: string;
  let collection: Address;
  beforeAll(async () => {
    [stack] = await Promise.all([leaseStack(), buildPages(), mkdir(pictures, { recursive: true })]);
    browser = await openBrowser();
    origin = new URL(stack.ready.rest).origin;
    const owner = await connect(stack.ready.rpcUrl ?? "", stack.ready.chainId ?? 0).createWallet();
    collection = await deploySale(stack, owner.account.address, { name: "Pictures", supply: 50 });
  });
  afterAll(async () => {
    await browser?.close();
    await stack?.release();
  });

  interface Shown {
    name: string;
    path: string;
    /** Text that is there when the page has all it shows. */
    ready: string;
    signedIn: boolean;
  }
  const pages = (): Shown[] => [
    { name: "mint", path: `/mint/goerli/${collection}`, ready: "of 50 minted", signedIn: false },
    { name: "guide", path: "/docs/guide/console", ready: "Operating the pages", signedIn: false },
    { name: "sign-in", path: "/console", ready: "With a wallet", signedIn: false },
    { name: "overview", path: "/console", ready: "of 50 minted", signedIn: true },
    { name: "launch", path: "/console/launch", ready: "Drop a folder here", signedIn: true },
    { name: "collection", path: `/console/collections/goerli/${collection}`, ready: "Mint page", signedIn: true },
    { name: "data", path: "/console/data", ready: "Address", signedIn: true },
    { name: "account", path: "/console/account", ready: "Keys and sessions", signedIn: true },
  ];

  for (const width of widths)
    for (const dark of [false, true])
      test(`has no finding of axe at ${width} pixels, ${dark ? "dark" : "light"}, and fits its width`, async () => {
        const { page, complaints, close } = await openPage(browser, origin, { width, height: 800, dark });
        page.setDefaultTimeout(patient.timeout / 5);
        for (const { name, path, ready, signedIn } of pages()) {
          await page.goto(`${origin}/console`);
          await page.evaluate(
            ([key]) => (key ? sessionStorage.setItem("mintyard-key", key) : sessionStorage.clear()),
            [signedIn ? stack.ready.apiKey : ""],
          );
          await page.goto(origin + path);
          await page.getByText(ready).first().waitFor();
          await page.waitForLoadState("networkidle");
          expect([name, await findings(page)]).toEqual([name, []]);
          const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          expect([name, wide]).toEqual([name, 0]);
          if (!dark) await page.screenshot({ path: join(pictures, `${name}-${width}.png`) });
        }
        // A contract without a token is not in the index yet.
        expect(complaints.filter((text) => !text.includes("status of 404"))).toEqual([]);
        await close();
      });

  test("mints in a presale for a listed wallet at its price, and tells another one why not", async () => {
    const chainId = stack.ready.chainId ?? 0;
    const rpcUrl = stack.ready.rpcUrl ?? "";
    const { createWallet, node } = connect(rpcUrl, chainId);
    const [listed, other] = [await createWallet(), await createWallet()];
    const sale = { name: "Presale", supply: 9, presaleIn: -60_000, publicIn: 86_400_000 };
    const presale = await deploySale(stack, listed.account.address, {
      ...sale,
      listed: [listed.account.address, `0x${"77".repeat(20)}`],
    });
    for (const [wallet, text] of [
      [other, "Only listed wallets can mint in the presale."],
      [listed, "This wallet is on the presale list."],
    ] as const) {
      const watched = await openPage(browser, origin);
      watched.page.setDefaultTimeout(patient.timeout / 5);
      await addWallet(watched, wallet, rpcUrl, chainId);
      await watched.page.goto(`${origin}/mint/goerli/${presale}`);
      await watched.page.getByText("The public sale opens in").waitFor();
      await watched.page.getByRole("button", { name: "Own wallet" }).click();
      await watched.page.getByText(text).waitFor();
      if (wallet === listed) {
        await watched.page.getByText("0.005 ETH").waitFor();
        await watched.page.getByRole("button", { name: "Mint 1" }).click();
        await watched.page.getByRole("heading", { name: "Here is your token" }).waitFor();
        await watched.page.getByText("This wallet has used its one presale mint.").waitFor();
        expect(await node.getBalance({ address: presale })).toBe(5_000_000_000_000_000n);
      } else expect(await watched.page.getByRole("button", { name: /^Mint/ }).count()).toBe(0);
      expect(watched.complaints).toEqual([]);
      await watched.close();
    }
  });

  test("says how much a poor wallet lacks, and mints with the test wallet of a local chain", async () => {
    const { page, context, complaints, close } = await openPage(browser, origin);
    page.setDefaultTimeout(patient.timeout / 5);
    await page.goto(`${origin}/mint/goerli/${collection}`);
    await context.route("**/local-wallet/**", async (route) => {
      const { method } = JSON.parse(route.request().postData() ?? "{}") as { method?: string };
      if (method === "eth_getBalance") await route.fulfill({ json: { result: "0x1" } });
      else await route.continue();
    });
    await page.getByRole("button", { name: "Test wallet" }).click();
    await page.getByRole("button", { name: "Mint 1" }).click();
    await page.getByText(/This wallet has too little: 0\.01\d* ETH are missing/).waitFor();
    await context.unroute("**/local-wallet/**");
    await page.getByRole("button", { name: "Mint 1" }).click();
    await page.getByRole("heading", { name: "Here is your token" }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test("the test wallet exists on local chains, for pages of this server, for what a page asks", async () => {
    const ask = (body: object, headers: Record<string, string> = {}) =>
      fetch(`${origin}/local-wallet/goerli`, { method: "POST", body: JSON.stringify(body), headers });
    const { result } = (await (await ask({ method: "eth_accounts" })).json()) as { result: string[] };
    expect(result).toHaveLength(5);
    expect((await ask({ method: "hardhat_setBalance", params: [] })).status).toBe(422);
    expect((await ask({ method: "eth_accounts" }, { Origin: "http://other.example" })).status).toBe(404);
  });
});
