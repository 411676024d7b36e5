import { SignClient } from "@walletconnect/sign-client";
import type { Browser, Page } from "playwright-core";
import type { Address, Hex } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, type Wallet } from "../../bin/demo-wallets.ts";
import { ApiServer } from "../setup/api-server.ts";
import { Client } from "../setup/client.ts";
import { leaseStack } from "../setup/shared-stack.ts";
import { patient } from "../setup/wait.ts";
import { hasBrowser, openBrowser, openPage, type WatchedPage } from "./browser.ts";
import { checkLook } from "./looks.ts";
import { startRelayAndProxy, type TestHost } from "./wallet-connect-relay.ts";
import { buildPages, deploySale, storeDocument } from "./web-fixture.ts";

const projectId = "0123456789abcdef0123456789abcdef";
const origin = "https://mint.example";

type WalletApp = Awaited<ReturnType<typeof openWallet>>;

/** An app with a key of its own, which is reached over the relay alone. */
async function openWallet(relayUrl: string, owner: Wallet, chainId: number) {
  const client = await SignClient.init({
    ...{ projectId, relayUrl, logger: "silent", telemetryEnabled: false },
    metadata: { name: "Pocket", description: "A wallet.", url: "https://pocket.example", icons: [] },
  });
  // It begins on another network than the page's.
  const app = { client, answer: "yes" as "yes" | "no", asked: [] as string[], proposer: "", chains: [1] };
  const declined = { code: 5000, message: "User rejected." };
  const eip155 = ({ methods, events }: { methods: string[]; events: string[] }) => ({
    ...{ methods, events, chains: app.chains.map((id) => `eip155:${id}`) },
    accounts: app.chains.map((id) => `eip155:${id}:${owner.account.address}`),
  });
  client.on("session_proposal", async ({ id, params }) => {
    app.proposer = params.proposer.metadata.url;
    if (app.answer === "no") return await client.reject({ id, reason: declined });
    const { chains, ...rest } = params.optionalNamespaces["eip155"] ?? { chains: [], methods: [], events: [] };
    expect(chains).toEqual([`eip155:${chainId}`]);
    await client.approve({ id, namespaces: { eip155: eip155(rest) } });
  });
  const carryOut = async (topic: string, method: string, call: Record<string, Hex>): Promise<unknown> => {
    if (method === "eth_sendTransaction") {
      const { to, data, value } = call;
      return await owner.sendTransaction({ to: to as Address, data: data as Hex, value: BigInt(value ?? 0) });
    }
    app.chains.push(Number(call["chainId"]));
    const { methods = [], events = [] } = client.session.get(topic).namespaces["eip155"] ?? {};
    await client.update({ topic, namespaces: { eip155: eip155({ methods, events }) } });
    return null;
  };
  client.on("session_request", async ({ topic, id, params }) => {
    const { method, params: args } = params.request as { method: string; params: [Record<string, Hex>] };
    app.asked.push(`${params.chainId} ${method}`);
    const answer = app.answer === "no" ? { error: declined } : { result: await carryOut(topic, method, args[0]) };
    await client.respond({ topic, response: { id, jsonrpc: "2.0", ...answer } });
  });
  return app;
}

// The chain is not local for the server of these pages: its visitors have no test wallet, and links to apps lead somewhere.
describe.skipIf(!hasBrowser)("the mint page, with a wallet that is elsewhere", () => {
  const stack = leaseStack();
  let api: ApiServer;
  let host: TestHost;
  let browser: Browser;
  let fan: Wallet;
  let app: WalletApp;
  let path: string;
  let rpcUrl: string;
  beforeAll(async () => {
    await buildPages();
    rpcUrl = stack.ready.rpcUrl ?? "";
    const chainId = stack.ready.chainId ?? 0;
    const local = { RPC_URL_GOERLI: rpcUrl, WALLET_RPC_URL_GOERLI: rpcUrl, CHAIN_ID_GOERLI: String(chainId) };
    const settings = { LOCAL_GOERLI: "off", PUBLIC_URL: origin, WALLETCONNECT_PROJECT_ID: projectId };
    api = await ApiServer.start({ ...local, ...settings });
    const { key } = await api.account();
    await storeDocument(new Client({ ...stack.ready, rest: `${api.url}/v0` }, key), "Afar");
    host = await startRelayAndProxy(api.port);
    const here = `127.0.0.1:${host.port}`;
    browser = await openBrowser({ "mint.example": here, "relay.walletconnect.org": here });
    fan = await connect(rpcUrl, chainId).createWallet();
    app = await openWallet(host.relayUrl, fan, chainId);
    path = `/mint/goerli/${await deploySale(stack, fan.account.address, { name: "Afar", supply: 9 })}`;
  });
  afterAll(async () => {
    await app?.client.core.relayer.transportClose();
    await browser?.close();
    host?.close();
    await api?.close();
  });

  async function visit(options: { width?: number; phone?: boolean } = {}): Promise<WatchedPage> {
    const watched = await openPage(browser, origin, { ...options, asks: [rpcUrl] });
    watched.page.setDefaultTimeout(patient.timeout / 5);
    await watched.context.grantPermissions(["clipboard-read", "clipboard-write"], { origin });
    return watched;
  }

  /** The code that the page shows. */
  async function copyCode(page: Page): Promise<string> {
    await page.getByRole("button", { name: "Copy the code" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    return await page.evaluate(() => navigator.clipboard.readText());
  }

  test("connects, mints what the wallet sends, comes back after a reload, and says when the wallet ends it", async () => {
    const { page, complaints, close } = await visit();
    const loaded: string[] = [];
    page.on("request", (request) => loaded.push(request.url()));
    await page.goto(origin + path);
    await page.getByText("0 of 9 minted").waitFor();
    expect(loaded.filter((url) => /pairing-panel|sessions/.test(url))).toEqual([]);
    app.answer = "no";
    await page.getByRole("button", { name: "WalletConnect" }).click();
    await page.getByRole("img", { name: "QR code of the connection" }).waitFor();
    await checkLook(page, "walletconnect", { width: 1280, dark: false });
    await app.client.pair({ uri: await copyCode(page) });
    await page.getByText("You declined the connection in your wallet.").waitFor();
    app.answer = "yes";
    await page.getByRole("button", { name: "Try again" }).click();
    await app.client.pair({ uri: await copyCode(page) });
    await page.getByText("Pocket").waitFor();
    expect(app.proposer).toBe(origin);
    await page.getByText("Your wallet is on another network (chain id 1)").waitFor();
    await page.getByRole("button", { name: "Switch to goerli" }).click();
    await page.getByRole("button", { name: "Mint 1" }).waitFor();
    // What the page says of the fee it has read from the chain, not from the wallet.
    await page
      .locator(".sum dd")
      .nth(1)
      .getByText(/^about/)
      .waitFor();
    app.answer = "no";
    await page.getByRole("button", { name: "Mint 1" }).click();
    await page.getByText("You declined in your wallet. Nothing was sent and nothing was paid.").waitFor();
    app.answer = "yes";
    await page.getByRole("button", { name: "Mint 1" }).click();
    await page.getByRole("heading", { name: "Here is your token" }).waitFor();
    await page.getByText("1 of 9 minted").waitFor();
    const send = `eip155:${stack.ready.chainId} eth_sendTransaction`;
    expect(app.asked).toEqual(["eip155:1 wallet_switchEthereumChain", send, send]);
    await page.reload();
    await page.getByText("Pocket").waitFor();
    await page.getByRole("button", { name: "Mint 1" }).click();
    await page.getByText("2 of 9 minted").waitFor();
    const [session] = app.client.session.getAll();
    await app.client.disconnect({ topic: session?.topic ?? "", reason: { code: 6000, message: "User disconnected." } });
    await page.getByText("Your wallet ended the connection.").waitFor();
    await page.getByRole("button", { name: "WalletConnect" }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test("offers a phone the browsers of wallets, and a code that ends", async () => {
    const { page, complaints, close } = await visit({ width: 360, phone: true });
    await page.clock.install();
    await page.goto(origin + path);
    const link = page.getByRole("link", { name: "MetaMask" });
    await link.waitFor();
    expect(await link.getAttribute("href")).toBe(`https://link.metamask.io/dapp/mint.example${path}`);
    expect(await page.getByRole("link", { name: /Wallet$/ }).count()).toBe(3);
    await checkLook(page, "phone", { width: 360, dark: false });
    const offer = page.getByRole("button", { name: "WalletConnect" });
    await offer.click();
    const open = page.getByRole("link", { name: "Open in your wallet" });
    await open.waitFor();
    expect(await open.getAttribute("href")).toMatch(/^wc:[0-9a-f]{64}@2\?/);
    expect(await open.getAttribute("href")).toBe(await copyCode(page));
    expect(await page.getByRole("img", { name: "QR code of the connection" }).count()).toBe(0);
    await checkLook(page, "phone-walletconnect", { width: 360, dark: false });
    await page.getByRole("button", { name: "Cancel" }).click();
    await open.waitFor({ state: "detached" });
    await offer.click();
    await open.waitFor();
    await page.clock.fastForward("05:05");
    await page.getByText("this code has expired").waitFor();
    await page.getByRole("button", { name: "Try again" }).click();
    await open.waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test("lets a page ask the relay and the public endpoint where that is set, and nowhere else", async () => {
    const policyOf = async (url: string) => (await fetch(url)).headers.get("content-security-policy") ?? "";
    const plain = await policyOf(new URL(stack.ready.rest).origin + path);
    expect(plain).toContain("connect-src 'self';");
    expect(await policyOf(api.url + path)).toBe(
      plain.replace("connect-src 'self'", `connect-src 'self' wss://relay.walletconnect.org ${rpcUrl}`),
    );
    expect(await policyOf(`${api.url}/console`)).toBe(plain);
    const sale = await (await fetch(`${new URL(stack.ready.rest).origin}${path}/sale`)).json();
    expect(sale).toMatchObject({ wallet_connect: null });
  });
});
