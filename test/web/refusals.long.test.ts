import type { Browser } from "playwright-core";
import { type Address, keccak256, parseEther } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, type Wallet } from "../../bin/demo-wallets.ts";
import { leaseStack } from "../setup/shared-stack.ts";
import { TcpProxy } from "../setup/tcp-proxy.ts";
import {
  addWallet,
  hasBrowser,
  openBrowser,
  openPage,
  sign,
  signOnly,
  type WalletControl,
  type WatchedPage,
} from "./browser.ts";
import { checkLook, type Look, looks, nameOf } from "./looks.ts";
import { buildPages, deploySale } from "./web-fixture.ts";

interface Visit extends WatchedPage {
  wallet: WalletControl;
  fan: Wallet;
  /** Presses the button of the mint, whatever its number. */
  mint(): Promise<void>;
  /** The page refuses in these words, and is in order. */
  refuses(kind: string, text?: RegExp): Promise<void>;
}

// What the mint page says when a mint does not happen, on every width of screen, light and dark, all at once.
describe.skipIf(!hasBrowser)("the mint page", () => {
  const stack = leaseStack();
  let browser: Browser;
  let chain: ReturnType<typeof connect>;
  let origin: string;
  let collection: Address;
  let presale: Address;
  /** One for each look: what one of them sends must not be another one's nonce. */
  const fans = new Map<Look, Wallet>();
  beforeAll(async () => {
    await buildPages();
    browser = await openBrowser();
    origin = new URL(stack.ready.rest).origin;
    chain = connect(stack.ready.rpcUrl ?? "", stack.ready.chainId ?? 0);
    for (const look of looks) fans.set(look, await chain.createWallet());
    const listed = [...fans.values()].map(({ account }) => account.address);
    const [owner = "0x"] = listed;
    collection = await deploySale(stack, owner, { name: "Refusals", supply: 90, perMint: 3 });
    presale = await deploySale(stack, owner, { name: "Once", presaleIn: -60_000, publicIn: 86_400_000, listed });
  });
  afterAll(async () => {
    await browser?.close();
  });

  async function visit(look: Look, fan = fans.get(look), address = collection, from = origin): Promise<Visit> {
    if (!fan) throw new Error("no such look");
    const watched = await openPage(browser, from, look);
    const { page } = watched;
    page.setDefaultTimeout(120_000);
    const wallet = await addWallet(watched, fan, stack.ready.rpcUrl ?? "", stack.ready.chainId ?? 0);
    await page.goto(`${from}/mint/goerli/${address}`);
    return {
      ...watched,
      wallet,
      fan,
      mint: () => page.getByRole("button", { name: /^Mint \d/ }).click(),
      refuses: async (kind, text) => {
        const refusal = page.locator(`[data-refusal="${kind}"]`);
        await refusal.waitFor();
        if (text) expect(await refusal.textContent()).toMatch(text);
        expect(await page.getByRole("heading", { name: /Here (is|are) your/ }).count()).toBe(0);
        await checkLook(page, `refused-${kind}`, look);
      },
    };
  }

  /** A visit with the wallet connected, in each look at once; the page must not complain of anything. */
  async function inEveryLook(run: (visit: Visit, look: Look) => Promise<void>): Promise<void> {
    await Promise.all(
      looks.map(async (look) => {
        const visited = await visit(look);
        await visited.page.getByRole("button", { name: "Own wallet" }).click();
        await run(visited, look);
        expect([nameOf(look), visited.complaints]).toEqual([nameOf(look), []]);
        await visited.close();
      }),
    );
  }

  test("offers a wallet on another network to switch, and one that does not know the network to add it", async () => {
    await inEveryLook(async ({ page, wallet }, look) => {
      for (const knows of [[1, stack.ready.chainId ?? 0], [1]]) {
        await page.getByRole("button", { name: "Disconnect" }).click();
        wallet.chainId = 1;
        wallet.knows = knows;
        await page.getByRole("button", { name: "Own wallet" }).click();
        await page.getByText("Your wallet is on another network (chain id 1)").waitFor();
        expect(await page.getByRole("button", { name: /^Mint/ }).count()).toBe(0);
        await checkLook(page, "other-network", look);
        await page.getByRole("button", { name: "Switch to goerli" }).click();
        await page.getByRole("button", { name: "Mint 1" }).waitFor();
      }
      expect(wallet.added).toMatchObject([{ rpcUrls: [stack.ready.rpcUrl], nativeCurrency: { symbol: "ETH" } }]);
    });
  });

  test("offers no more than one mint may have, and says price and gas of it", async () => {
    await inEveryLook(async ({ page }, look) => {
      await page.getByLabel(/^How many/).fill("99");
      await page.getByRole("button", { name: "Mint 3" }).waitFor();
      const [price, fee] = [page.locator(".sum dd").nth(0), page.locator(".sum dd").nth(1)];
      await price.getByText("0.03 ETH").waitFor();
      await fee.getByText(/^about 0\.0+\d{1,2} ETH$/).waitFor();
      await checkLook(page, "most", look);
    });
  });

  test("says that the visitor declined", async () => {
    await inEveryLook(async ({ wallet, mint, refuses }) => {
      wallet.answer = "no";
      await mint();
      await refuses("rejected", /Nothing was sent and nothing was paid/);
    });
  });

  test("says how much a wallet lacks that cannot pay", async () => {
    await Promise.all(
      looks.map(async (look) => {
        const poor = await chain.createWallet();
        await chain.node.setBalance({ address: poor.account.address, value: parseEther("0.004") });
        const { page, mint, refuses, complaints, close } = await visit(look, poor);
        await page.getByRole("button", { name: "Own wallet" }).click();
        // Said before the button is pressed, and again when it was.
        await page.getByText(/This wallet has too little: 0\.006\d* ETH are missing/).waitFor();
        expect(await page.locator("[data-refusal]").count()).toBe(0);
        await mint();
        await refuses("funds", /This wallet has too little: 0\.006\d* ETH are missing/);
        expect(complaints).toEqual([]);
        await close();
      }),
    );
  });

  test("says that the last tokens went while the visitor signed", async () => {
    const others: { look: Look; other: Wallet; address: Address }[] = [];
    for (const look of looks) {
      const other = await chain.createWallet();
      const address = await deploySale(stack, other.account.address, { supply: 2, perMint: 2 });
      others.push({ look, other, address });
    }
    await Promise.all(
      others.map(async ({ look, other, address }) => {
        const { page, wallet, fan, mint, refuses, complaints, close } = await visit(look, undefined, address);
        await page.getByRole("button", { name: "Own wallet" }).click();
        await page.getByLabel(/^How many/).fill("2");
        wallet.beforeSend = async () => {
          const data = `0xa0712d68${"2".padStart(64, "0")}` as const;
          const hash = await other.sendTransaction({ to: address, data, value: parseEther("0.02") });
          await chain.node.waitForTransactionReceipt({ hash });
        };
        // This node answers a transaction that fails with an error, and takes it. Other nodes answer with its hash.
        wallet.send = async (call) => {
          const serializedTransaction = await sign(fan, call);
          await chain.node.sendRawTransaction({ serializedTransaction }).catch(() => undefined);
          return keccak256(serializedTransaction);
        };
        await mint();
        await refuses("failed", /You paid the network's fee, not the price/);
        await page.getByText("All tokens of this sale are minted.").waitFor();
        await checkLook(page, "sold-out", look);
        expect(complaints).toEqual([]);
        await close();
      }),
    );
  });

  test("says that a wallet has used its presale mint", async () => {
    await Promise.all(
      looks.map(async (look) => {
        const { page, mint, complaints, close } = await visit(look, undefined, presale);
        await page.getByRole("button", { name: "Own wallet" }).click();
        await page.getByText("This wallet is on the presale list.").waitFor();
        await mint();
        await page.getByRole("heading", { name: "Here is your token" }).waitFor();
        await page.getByText("This wallet has used its one presale mint.").waitFor();
        expect(await page.getByRole("button", { name: /^Mint/ }).count()).toBe(0);
        await checkLook(page, "presale-used", look);
        expect(complaints).toEqual([]);
        await close();
      }),
    );
  });

  test("says that another transaction took its place, and never that it is done", async () => {
    await inEveryLook(async ({ page, wallet, fan, mint, refuses }) => {
      wallet.send = async (call) => {
        const hash = await signOnly(fan, call);
        const cancelled = await fan.sendTransaction({ to: fan.account.address, value: 0n });
        await chain.node.waitForTransactionReceipt({ hash: cancelled });
        return hash;
      };
      await mint();
      await refuses("replaced");
      // The button works again.
      wallet.send = undefined;
      await mint();
      await page.getByRole("heading", { name: "Here is your token" }).waitFor();
    });
  });

  test("says that the network dropped the transaction", async () => {
    await inEveryLook(async ({ page, wallet, fan, mint, refuses }, look) => {
      wallet.send = (call) => signOnly(fan, call);
      await mint();
      await page.getByText("Waiting for a block.").waitFor();
      await checkLook(page, "sent", look);
      await refuses("dropped");
    });
  });

  test("says what the contract refuses before anything is signed", async () => {
    await inEveryLook(async ({ page, wallet, fan, mint, refuses }) => {
      const sent: unknown[] = [];
      wallet.send = async (call) => {
        sent.push(call);
        return await signOnly(fan, call);
      };
      await page.getByRole("button", { name: "Mint 1" }).waitFor();
      for (const [revert, kind] of [
        ["Minting has not started yet", "not-started"],
        ["Already minted", "presale-used"],
        ["Not whitelisted", "not-listed"],
        ["Amount too large", "over-limit"],
        ["Not enough tokens left", "sold-out"],
        ["insufficient funds for gas * price + value", "funds"],
      ] as const) {
        wallet.refuseCalls = revert;
        await mint();
        await refuses(kind);
      }
      expect(sent).toEqual([]);
    });
  });

  test("keeps what it shows while the server is away, and goes on when it is back", async () => {
    const look = { width: 360, dark: false };
    const way = await TcpProxy.start(Number(new URL(origin).port));
    const { page, mint, close } = await visit(look, await chain.createWallet(), collection, way.url);
    await page.getByText("of 90 minted").waitFor();
    way.cutAfter(0);
    await page.getByText("The server does not answer. Trying again.").waitFor();
    expect(await page.getByText("of 90 minted").isVisible()).toBe(true);
    await checkLook(page, "away", look);
    way.heal();
    await page.getByText("The server does not answer. Trying again.").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Own wallet" }).click();
    await mint();
    await page.getByRole("heading", { name: "Here is your token" }).waitFor();
    await close();
    await way.stop();
  });
});
