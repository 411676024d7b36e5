import type { Browser } from "playwright-core";
import { type Address, type Hex, keccak256 } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, type Wallet } from "../../bin/demo-wallets.ts";
import { type LeasedStack, leaseStack } from "../setup/shared-stack.ts";
import { addWallet, hasBrowser, openBrowser, openPage, type WalletControl, type WatchedPage } from "./browser.ts";
import { buildPages, deploySale } from "./web-fixture.ts";

// What the mint page says when a mint does not happen. Those of one visit are in mint-page.test.ts and pages.long.test.ts.
describe.skipIf(!hasBrowser)("the mint page", () => {
  let stack: LeasedStack;
  let browser: Browser;
  let chain: ReturnType<typeof connect>;
  let origin: string;
  let collection: Address;
  let fan: Wallet;
  beforeAll(async () => {
    [stack] = await Promise.all([leaseStack(), buildPages()]);
    browser = await openBrowser();
    origin = new URL(stack.ready.rest).origin;
    chain = connect(stack.ready.rpcUrl ?? "", stack.ready.chainId ?? 0);
    fan = await chain.createWallet();
    collection = await deploySale(stack, fan.account.address, { name: "Refusals", supply: 30, perMint: 3 });
  });
  afterAll(async () => {
    await browser?.close();
    await stack?.release();
  });

  async function visit(wallet = fan): Promise<WatchedPage & { wallet: WalletControl }> {
    const watched = await openPage(browser, origin);
    watched.page.setDefaultTimeout(60_000);
    const control = await addWallet(watched, wallet, stack.ready.rpcUrl ?? "", stack.ready.chainId ?? 0);
    await watched.page.goto(`${origin}/mint/goerli/${collection}`);
    return { ...watched, wallet: control };
  }

  /** Signs what the page wants, and gives its hash to the page without sending it. */
  async function signOnly(call: { to?: Hex | undefined; data?: Hex | undefined; value?: Hex | undefined }) {
    const { to, data, value } = call;
    const request = await fan.prepareTransactionRequest({ to, data, value: BigInt(value ?? 0), gas: 300_000n });
    return keccak256(await fan.signTransaction(request as Parameters<Wallet["signTransaction"]>[0]));
  }

  test("has a wallet add a network that it does not know", async () => {
    const { page, wallet, complaints, close } = await visit();
    wallet.chainId = 1;
    wallet.knows = [1];
    await page.getByRole("button", { name: "Own wallet" }).click();
    await page.getByRole("button", { name: "Switch to goerli" }).click();
    await page.getByRole("button", { name: "Mint 1" }).waitFor();
    expect(wallet.added).toMatchObject([{ rpcUrls: [stack.ready.rpcUrl], nativeCurrency: { symbol: "ETH" } }]);
    expect(complaints).toEqual([]);
    await close();
  });

  test("offers no more than one mint may have", async () => {
    const { page, close } = await visit();
    await page.getByRole("button", { name: "Own wallet" }).click();
    await page.getByLabel(/^How many/).fill("99");
    await page.getByRole("button", { name: "Mint 3" }).waitFor();
    await close();
  });

  test("says that another transaction took its place, and never that it is done", async () => {
    const { page, wallet, complaints, close } = await visit();
    wallet.send = async (call) => {
      const hash = await signOnly(call);
      const cancelled = await fan.sendTransaction({ to: fan.account.address, value: 0n });
      await chain.node.waitForTransactionReceipt({ hash: cancelled });
      return hash;
    };
    await page.getByRole("button", { name: "Own wallet" }).click();
    await page.getByRole("button", { name: "Mint 1" }).click();
    await page.locator('[data-refusal="replaced"]').waitFor();
    expect(await page.getByRole("heading", { name: /Here (is|are) your/ }).count()).toBe(0);
    // The button works again.
    wallet.send = undefined;
    await page.getByRole("button", { name: "Mint 1" }).click();
    await page.getByRole("heading", { name: "Here is your token" }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test("says that the network dropped the transaction", async () => {
    const { page, wallet, complaints, close } = await visit();
    wallet.send = signOnly;
    await page.getByRole("button", { name: "Own wallet" }).click();
    await page.getByRole("button", { name: "Mint 1" }).click();
    await page.getByText("Waiting for a block.").waitFor();
    await page.locator('[data-refusal="dropped"]').waitFor({ timeout: 100_000 });
    expect(complaints).toEqual([]);
    await close();
  });

  test("says what the contract refuses before anything is signed", async () => {
    const { page, wallet, complaints, close } = await visit();
    const sent: unknown[] = [];
    wallet.send = async (call) => {
      sent.push(call);
      return await signOnly(call);
    };
    await page.getByRole("button", { name: "Own wallet" }).click();
    await page.getByRole("button", { name: "Mint 1" }).waitFor();
    for (const [revert, kind] of [
      ["Minting has not started yet", "not-started"],
      ["Already minted", "presale-used"],
      ["Not whitelisted", "not-listed"],
      ["Amount too large", "over-limit"],
      ["insufficient funds for gas * price + value", "funds"],
    ] as const) {
      wallet.refuseCalls = revert;
      await page.getByRole("button", { name: "Mint 1" }).click();
      await page.locator(`[data-refusal="${kind}"]`).waitFor();
    }
    expect(sent).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });

  test("keeps what it shows while the server is away, and goes on when it is back", async () => {
    const { page, close } = await visit();
    await page.getByText("of 30 minted").waitFor();
    const back = stack.restart();
    await page.getByText("The server does not answer. Trying again.").waitFor();
    expect(await page.getByText("of 30 minted").isVisible()).toBe(true);
    await back;
    await page.getByText("The server does not answer. Trying again.").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Own wallet" }).click();
    await page.getByRole("button", { name: "Mint 1" }).click();
    await page.getByRole("heading", { name: "Here is your token" }).waitFor();
    await close();
  });
});
