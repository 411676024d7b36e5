import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { type Hex, keccak256 } from "viem";
import { onTestFailed } from "vitest";
import type { Wallet } from "../../bin/demo-wallets.ts";
import { slowness } from "../setup/wait.ts";

/** Debian's, or the one that `CHROMIUM` names. */
const program = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

/** Without a browser the tests of pages are skipped. */
export const hasBrowser = existsSync(program);
if (!hasBrowser) process.stdout.write(`no browser at ${program}: the tests of pages are skipped\n`);

/** @param hosts of the internet, and which address of this machine each of them is then. */
export async function openBrowser(hosts: Readonly<Record<string, string>> = {}): Promise<Browser> {
  // No sandbox: tests run as root in containers, and load pages of this repository alone.
  const args = ["--no-sandbox", "--disable-dev-shm-usage"];
  const mapped = Object.entries(hosts).map(([host, address]) => `MAP ${host} ${address}`);
  if (mapped.length > 0) args.push(`--host-resolver-rules=${mapped.join(",")}`, "--ignore-certificate-errors");
  // Others start at the same time, and on a busy machine it takes longer than the usual half a minute.
  return await chromium.launch({ executablePath: program, args, timeout: 120_000 * slowness });
}

/** A page that fails its test for whatever a visitor's browser would complain about. */
export interface WatchedPage {
  page: Page;
  context: BrowserContext;
  /** Errors in the console, refused by the policy, requests to other hosts. */
  complaints: string[];
  close(): Promise<void>;
}

interface PageOptions {
  width?: number;
  height?: number;
  dark?: boolean;
  /** Its screen is touched, and it says that it is one. */
  phone?: boolean;
  /** Origins that the page may ask too. */
  asks?: readonly string[];
}

/** @param origin of the host that the page is from. */
export async function openPage(browser: Browser, origin: string, options: PageOptions = {}): Promise<WatchedPage> {
  const { width = 1280, height = 900, dark = false, phone = false, asks = [] } = options;
  const context = await browser.newContext({
    viewport: { width, height },
    ...(phone ? { isMobile: true, hasTouch: true } : {}),
    colorScheme: dark ? "dark" : "light",
    reducedMotion: "reduce",
    locale: "en-GB",
    timezoneId: "UTC",
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith("http") && ![origin, ...asks].includes(url.origin))
      complaints.push(`request to ${url.origin}`);
  });
  await context.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective}`));
  });
  const watched = { page, context, complaints, close: () => context.close() };
  // Benches open pages too.
  if (process.env["VITEST"]) onTestFailed(async () => await describeContext(watched));
  return watched;
}

/** What a failed test's pages told a screen reader last: a wait that ended says only what it waited for. */
async function describeContext({ context, complaints }: WatchedPage): Promise<void> {
  for (const page of context.pages()) {
    const text = await page.locator("body").ariaSnapshot({ timeout: 2_000 }).catch(String);
    process.stdout.write(`${page.url()}\n${text.slice(0, 3_000)}\n\n`);
  }
  process.stdout.write(`complaints: ${JSON.stringify(complaints)}\n`);
}

/** Signs what a page wants without sending it. */
export async function sign(wallet: Wallet, { to, data, value }: SentCall): Promise<Hex> {
  const request = await wallet.prepareTransactionRequest({ to, data, value: BigInt(value ?? 0), gas: 300_000n });
  return await wallet.signTransaction(request as Parameters<Wallet["signTransaction"]>[0]);
}

/** The hash of a transaction that no node ever gets. */
export const signOnly = async (wallet: Wallet, call: SentCall): Promise<Hex> => keccak256(await sign(wallet, call));

interface SentCall {
  to?: Hex | undefined;
  data?: Hex | undefined;
  value?: Hex | undefined;
  gas?: Hex | undefined;
}

/** What a test decides about its wallet while it runs. */
export interface WalletControl {
  chainId: number;
  /** What the person says to the next prompts. */
  answer: "yes" | "no";
  /** Called before a transaction is sent, after the page has checked it. */
  beforeSend?: () => Promise<void>;
  /** Networks that the wallet can change to. */
  knows: number[];
  /** What the wallet was asked to add (EIP-3085). */
  added: unknown[];
  /** Sends in place of the wallet. @returns the hash that the page is told. */
  send?: ((call: SentCall) => Promise<Hex>) | undefined;
  /** What the node says to every simulation. */
  refuseCalls?: string | undefined;
}

/**
 * A browser wallet (EIP-6963) whose key and signatures stay in this process.
 *
 * @param name of its button; a page may have several.
 */
export async function addWallet(
  { page }: WatchedPage,
  wallet: Wallet,
  rpcUrl: string,
  chainId: number,
  name = "Own wallet",
): Promise<WalletControl> {
  const control: WalletControl = { chainId, answer: "yes", knows: [chainId], added: [] };
  const refuse = (code: number, message: string) => ({ error: { code, message } });
  const request = async (method: string, params: unknown[]): Promise<object> => {
    const prompts = /^(eth_requestAccounts|eth_sendTransaction|personal_sign|wallet_)/.test(method);
    if (prompts && control.answer === "no") return refuse(4001, "User rejected the request.");
    if (method === "eth_requestAccounts" || method === "eth_accounts") return { result: [wallet.account.address] };
    if (method === "eth_chainId") return { result: `0x${control.chainId.toString(16)}` };
    if (method === "wallet_switchEthereumChain") {
      const id = Number((params[0] as { chainId: Hex }).chainId);
      if (!control.knows.includes(id)) return refuse(4902, "Unknown chain ID.");
      control.chainId = id;
      return { result: null };
    }
    if (method === "wallet_addEthereumChain") {
      const network = params[0] as { chainId: Hex };
      control.added.push(network);
      control.knows.push(Number(network.chainId));
      control.chainId = Number(network.chainId);
      return { result: null };
    }
    if (method === "eth_call" && control.refuseCalls) return refuse(3, `execution reverted: ${control.refuseCalls}`);
    if (method === "personal_sign") {
      const sign = wallet.account.signMessage;
      return { result: await sign?.({ message: { raw: params[0] as Hex } }) };
    }
    if (method === "eth_sendTransaction") {
      await control.beforeSend?.();
      const { to, data, value, gas } = params[0] as SentCall;
      if (control.send) return { result: await control.send({ to, data, value }) };
      // Wallets send what they are told to, also what will fail.
      return {
        result: await wallet.sendTransaction({ to, data, value: BigInt(value ?? 0), gas: BigInt(gas ?? 3_000_000) }),
      };
    }
    const response = await fetch(rpcUrl, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    return (await response.json()) as object;
  };
  const asked = `ask ${name}`;
  await page.exposeFunction(asked, async (method: string, params: unknown[]) => {
    try {
      return await request(method, params);
    } catch (error) {
      return refuse(-32_000, (error as Error).message);
    }
  });
  type Ask = (method: string, params: unknown[]) => Promise<{ result?: unknown; error?: object }>;
  const info = { uuid: randomUUID(), name, icon: "data:,", rdns: "test.wallet" };
  await page.addInitScript(
    ({ asked, info }) => {
      const ask = (globalThis as unknown as Record<string, Ask>)[asked] as Ask;
      const listeners = new Map<string, ((value: unknown) => void)[]>();
      const provider = {
        request: async ({ method, params = [] }: { method: string; params?: unknown[] }) => {
          const { result, error } = await ask(method, params);
          if (error) throw error;
          return result;
        },
        on: (event: string, listener: (value: unknown) => void) =>
          listeners.set(event, [...(listeners.get(event) ?? []), listener]),
        removeListener: () => undefined,
      };
      const announce = () =>
        dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail: Object.freeze({ info, provider }) }));
      addEventListener("eip6963:requestProvider", announce);
      announce();
    },
    { asked, info },
  );
  return control;
}
