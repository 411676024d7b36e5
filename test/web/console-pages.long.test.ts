import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import type { Browser, Page } from "playwright-core";
import { type Address, getAddress } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { drawImage } from "../../bin/demo-images.ts";
import { connect, type Wallet } from "../../bin/demo-wallets.ts";
import { DataFolder } from "../../src/embedded/data-folder.ts";
import { formatFee } from "../../web/shared/amounts.ts";
import { Client } from "../setup/client.ts";
import { leaseStack } from "../setup/shared-stack.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { patient } from "../setup/wait.ts";
import { addWallet, hasBrowser, openBrowser, openPage, type WatchedPage } from "./browser.ts";
import { enterOn, pressedKeys } from "./keyboard.ts";
import { buildPages } from "./web-fixture.ts";

// What a creator and an operator look at after a launch.
describe.skipIf(!hasBrowser)("the console's pages", () => {
  const stack = leaseStack();
  let browser: Browser;
  let origin: string;
  const dir = temporaryFolder();
  let chain: ReturnType<typeof connect>;
  let owner: Wallet;
  let fan: Wallet;
  let collection: Address;
  beforeAll(async () => {
    await buildPages();
    browser = await openBrowser();
    origin = new URL(stack.ready.rest).origin;
    chain = connect(stack.ready.rpcUrl ?? "", stack.ready.chainId ?? 0);
    [owner, fan] = [await chain.createWallet(), await chain.createWallet()];
    collection = await deployWithTraits();
    for (let token = 0; token < 3; token += 1) {
      const hash = await fan.sendTransaction({ to: collection, data: mintOne, value: 10n ** 16n });
      await chain.node.waitForTransactionReceipt({ hash });
    }
    // A page asks for traits when it opens: their documents have to be read by then.
    const path = `/nfts/${collection}?chain=goerli&include=metadata`;
    const isRead = ({ body }: { body: Record<string, unknown> }) => {
      const nfts = (body["nfts"] ?? []) as { metadata: unknown }[];
      return nfts.length === 3 && nfts.every(({ metadata }) => metadata !== null);
    };
    await new Client(stack.ready).until(path, isRead);
  });
  afterAll(async () => {
    await browser?.close();
  });
  const mintOne = `0xa0712d68${"1".padStart(64, "0")}` as const;

  async function deployWithTraits(): Promise<Address> {
    const client = new Client(stack.ready);
    const documents = [0, 1, 2, 3].map((id): [string, Blob, string] => {
      const attributes = [{ trait_type: "Colour", value: id === 0 ? "red" : "blue" }];
      return ["metadata_files", new Blob([JSON.stringify({ name: `Garden #${id}`, attributes })]), `${id}.json`];
    });
    const folder = await client.form("/metadata/directory", documents);
    const { body } = await client.json("/contracts/collections", {
      ...{ chain: "goerli", name: "Garden", symbol: "GRD", max_supply: 4, tokens_per_mint: 1, mint_price: 0.01 },
      ...{ owner_address: owner.account.address, treasury_address: owner.account.address },
      // The clock of a local chain is a minute behind, and what its start took.
      ...{ public_mint_start: new Date(Date.now() - 3_600_000).toISOString() },
      base_uri: folder.body["metadata_directory_ipfs_uri"],
    });
    const path = `/contracts/${body["transaction_hash"]}?chain=goerli`;
    const deployed = await client.until(path, ({ status }) => status === 200);
    return deployed.body["contract_address"] as Address;
  }

  /** What a list of facts says of a word. */
  const fact = (page: Page, word: string) => page.locator("dt", { hasText: word }).locator("+ dd").textContent();

  async function open(path: string, wallet?: Wallet, apiKey = stack.ready.apiKey): Promise<WatchedPage> {
    const watched = await openPage(browser, origin);
    watched.page.setDefaultTimeout(60_000);
    if (wallet) await addWallet(watched, wallet, stack.ready.rpcUrl ?? "", stack.ready.chainId ?? 0);
    await watched.context.addInitScript((key) => sessionStorage.setItem("mintyard-key", key), apiKey);
    await watched.page.goto(origin + path);
    return watched;
  }

  test("show a collection's revenue, mints by the hour, holders, and how rare its traits are", async () => {
    const { page, complaints, close } = await open(`/console/collections/goerli/${collection}`);
    await page.getByText("3 of 4").waitFor();
    await expect.poll(() => fact(page, "Buyers paid"), patient).toBe("0.03 ETH");
    expect([await fact(page, "Withdrawn"), await fact(page, "To withdraw")]).toEqual(["0 ETH", "0.03 ETH"]);
    await expect.poll(() => fact(page, "Holders"), patient).toBe("1");
    await page.getByText("3 in all, 3 at most in one bar").waitFor();
    // All that is asked again and again of this and every other collection is one question.
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await page.goto(`${origin}/console`);
    await page.getByText("3 of 4 minted on goerli").waitFor();
    await expect.poll(() => asked.filter((path) => path === "/console/figures").length, patient).toBeGreaterThan(2);
    expect(asked.filter((path) => path.startsWith("/mint/"))).toEqual([]);
    await page.getByRole("link", { name: "Garden" }).first().click();
    await page.getByRole("link", { name: "Holders", exact: true }).click();
    await page.getByText("1 holder of 3 tokens, 3.0 each on average").waitFor();
    await page.getByRole("link", { name: "Tokens", exact: true }).click();
    const tokens = page.locator("section", { has: page.getByRole("heading", { name: "Tokens" }) });
    // The index has read the documents of all three.
    await tokens.getByRole("option", { name: "blue (2)" }).waitFor({ state: "attached" });
    await tokens.getByText("1 trait").first().click();
    await tokens.getByText("33 %").waitFor();
    await tokens.getByLabel("Colour").selectOption("red");
    await tokens.getByText("1 token").waitFor();
    expect(await tokens.getByText("Garden #0").count()).toBe(1);
    expect(await tokens.getByText("Garden #1").count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  });

  test("give a developer the calls of a collection: those that are copied answer with its tokens", async () => {
    const { page, complaints, close } = await open(`/console/collections/goerli/${collection}/developer`);
    const section = page.locator("section", { has: page.getByRole("heading", { name: "Developer" }) });
    const call = section.locator("details", { hasText: "Read the tokens of a contract" });
    await call.locator("summary").click();
    const env = { PATH: process.env["PATH"], MINTYARD_KEY: stack.ready.apiKey };
    const command = (await call.locator("pre").textContent()) ?? "";
    const { stdout } = await promisify(execFile)("sh", ["-ec", command], { env });
    expect((JSON.parse(stdout) as { nfts: unknown[] }).nfts).toHaveLength(3);
    await section.getByLabel("GraphQL").check();
    const [document = "", variables = ""] = await call.locator("pre").allTextContents();
    const { body } = await new Client(stack.ready).graphql(document, JSON.parse(variables));
    expect(body).toMatchObject({ data: { contract: { nfts: { nodes: [{}, {}, {}] } } } });
    await section.getByLabel("TypeScript").check();
    expect(await call.locator("pre").textContent()).toContain(`contract_address: "${collection}"`);
    // What was asked just now is in the log of requests, of which the search has the contract's address.
    const log = section.getByRole("region", { name: "Requests of the last day" });
    expect(await log.getByLabel("Search").inputValue()).toBe(collection);
    const table = log.getByRole("region", { name: "Table of requests" });
    const read = table.getByRole("row", { name: new RegExp(`GET /v0/nfts/${collection}`) }).first();
    await read.getByText("200").waitFor();
    const refused = await new Client(stack.ready).get(`/nfts/${collection}?chain=goerli&page_size=0`);
    expect(refused.status).toBe(422);
    await log.getByLabel("only failed").check();
    await table.getByText("value_error").first().waitFor();
    await expect.poll(() => table.getByText("200", { exact: true }).count(), patient).toBe(0);
    // All of it is on a phone too: the table scrolls, and the page does not.
    await page.setViewportSize({ width: 360, height: 800 });
    expect(await page.locator("html").evaluate((html) => html.scrollWidth - html.clientWidth)).toBe(0);
    // The reference has the same values, and no text of the page has the key.
    expect(await page.content()).not.toContain(stack.ready.apiKey);
    await section.getByRole("link", { name: "All operations, filled in for this collection" }).click();
    await page.waitForURL("**/docs");
    const values = ["Chain", "Collection", "Contract"].map((name) =>
      page.getByLabel(name, { exact: true }).inputValue(),
    );
    expect(await Promise.all(values)).toEqual(["goerli", collection, collection]);
    expect(complaints).toEqual([]);
    await close();
  });

  test("offer a new account what it can begin with, and ten sample pictures, which are stored and can be seen", async () => {
    const signedUp = await new Client(stack.ready).json("/signup", { name: "First visit" });
    const { page, complaints, close } = await open("/console", undefined, String(signedUp.body["api_key"]));
    for (const title of ["Launch a collection", "Read data", "Call the API"])
      await page.getByRole("heading", { name: title }).waitFor();
    await page.getByRole("link", { name: /try sample pictures/ }).click();
    await page.getByRole("button", { name: "Try ten sample pictures" }).click();
    await page.getByText(/^10 files, .* Nothing is wrong with them/).waitFor();
    await page.getByLabel("Name of the collection").fill("Samples");
    await page.getByRole("button", { name: "Store 10 pictures" }).click();
    const stored = page.getByText(/^10 tokens stored at ipfs:/);
    await stored.waitFor();
    const folder = /ipfs:\/\/(\w+)/.exec((await stored.textContent()) ?? "")?.[1];
    const pictures = new Set<string>();
    for (const id of [0, 9]) {
      const { image } = (await (await fetch(`${origin}/ipfs/${folder}/${id}.json`)).json()) as { image: string };
      const answer = await fetch(image.replace("ipfs://", `${origin}/ipfs/`));
      expect(answer.headers.get("content-type")).toBe("image/png");
      pictures.add(Buffer.from(await answer.arrayBuffer()).toString("base64"));
    }
    expect(pictures.size).toBe(2);
    expect(complaints).toEqual([]);
    await close();
  });

  test("withdraw the revenue to the treasury by keyboard alone, and show what was withdrawn", async () => {
    const { page, complaints, close } = await open(`/console/collections/goerli/${collection}`, owner);
    const before = await chain.node.getBalance({ address: owner.account.address });
    // What waits is not known at once.
    await expect
      .poll(() => page.getByRole("button", { name: "Withdraw with Own wallet" }).isEnabled(), patient)
      .toBe(true);
    await enterOn(page, "Withdraw with Own wallet");
    const keys = pressedKeys(page);
    console.info(`keys to withdraw on the collection's page: ${JSON.stringify(keys)}`);
    expect(keys["Enter"]).toBe(1);
    await page.getByText(/^0\.03 ETH are in the treasury\. Transaction 0x/).waitFor();
    await expect.poll(() => fact(page, "Withdrawn"), patient).toBe("0.03 ETH");
    expect([await fact(page, "Buyers paid"), await fact(page, "To withdraw")]).toEqual(["0.03 ETH", "0 ETH"]);
    expect(await chain.node.getBalance({ address: owner.account.address })).toBeGreaterThan(before);
    expect(complaints).toEqual([]);
    await close();
  });

  test("take a folder that is dropped, and name what is wrong with it by file", async () => {
    const folder = join(dir, "dropped");
    await mkdir(folder);
    for (const id of [0, 1, 3]) await writeFile(join(folder, `${id}.png`), drawImage(id + 80));
    const { page, context, complaints, close } = await open("/console/launch");
    const box = await page.locator(".drop").boundingBox();
    if (!box) throw new Error("there is no place to drop a folder");
    const browserSide = await context.newCDPSession(page);
    const data = { items: [], files: [folder], dragOperationsMask: 1 };
    for (const type of ["dragEnter", "dragOver", "drop"] as const)
      await browserSide.send("Input.dispatchDragEvent", { type, x: box.x + 20, y: box.y + 20, data });
    await page.getByText("3 files").waitFor();
    await page.getByText("is missing: numbers must have no gap").waitFor();
    expect(await page.getByRole("button", { name: /^Store/ }).count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  });

  test("make a snapshot of the holders as a file", async () => {
    const { page, complaints, close } = await open("/console/data");
    await page.getByLabel("Address").fill(collection);
    await page.getByRole("button", { name: "Show" }).click();
    // What loads above the button moves it, and a click may fall where it was.
    for (const name of ["Table of holders", "Table of transfers"]) await page.getByRole("region", { name }).waitFor();
    await page.getByRole("button", { name: "Make a snapshot of the holders" }).click();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Download 3 rows" }).click(),
    ]);
    const holder = fan.account.address.toLowerCase();
    const text = await readFile(await download.path(), "utf8");
    expect(text).toBe(`token_id,address,amount\n${[0, 1, 2].map((id) => `${id},${holder},1\n`).join("")}`);
    expect(complaints).toEqual([]);
    await close();
  });

  test("make, try and delete a webhook, and show its tries", async () => {
    const { page, complaints, close } = await open("/console/webhooks");
    await page.getByLabel("URL").fill("https://receiver.invalid/events");
    await page.getByLabel("deployment").check();
    await page.getByRole("button", { name: "Make the endpoint" }).click();
    await page.getByText(/^whsec_/).waitFor();
    const endpoint = page.getByRole("region", { name: "Endpoint https://receiver.invalid/events" });
    await endpoint.getByText(/it answered nothing \(\w+\)/).waitFor();
    await endpoint.getByRole("button", { name: "Ask it now" }).click();
    await endpoint.getByText(/It is asked again at/).waitFor();
    // Nobody answers there: as if somebody had. A claim that still asks it ends, too: nothing is sent while one lasts.
    const database = new pg.Client(DataFolder.environmentOf(stack.dir)?.["DATABASE_URL"]);
    await database.connect();
    await database.query(
      "UPDATE service.webhook SET verified_at = clock_timestamp(), held = NULL, lease_id = NULL, lease_until = NULL",
    );
    await database.end();
    await endpoint.getByRole("button", { name: "Send a test event" }).click();
    await endpoint.getByText("Deliveries").click();
    await endpoint.getByText("webhook.test").first().click();
    await endpoint.getByText(/ in \d+ ms/).waitFor();
    await endpoint.getByRole("button", { name: "Pause" }).click();
    await endpoint.getByRole("button", { name: "Resume" }).waitFor();
    await endpoint.getByRole("button", { name: /^Delete the endpoint/ }).click();
    await endpoint.getByRole("button", { name: /^Keep/ }).click();
    await endpoint.getByRole("button", { name: /^Delete the endpoint/ }).click();
    await endpoint.getByRole("button", { name: /^Delete for good/ }).click();
    await endpoint.waitFor({ state: "detached" });
    // Its deliveries may be asked for once more after it has gone.
    expect(complaints.filter((text) => !text.includes("status of 404"))).toEqual([]);
    await close();
  });

  test("show an operator what works, the last day in plots, the wallets that pay, and what to do about a trouble", async () => {
    const { page, complaints, close } = await open("/console/operator");
    const tiles = page.getByRole("list", { name: "Health" });
    for (const part of ["Index", "Transactions", "Wallets", "Signer", "Database", "Storage"])
      await tiles.getByRole("listitem").filter({ hasText: part }).getByText("works", { exact: true }).waitFor();
    const plot = (title: string) => page.locator("figure", { hasText: title });
    // The worker's first sample may be older than the first block of the index.
    for (const title of ["Index lag", "Requests that wait", "Balances"])
      await expect.poll(() => plot(title).locator("svg path").first().getAttribute("d"), patient).toMatch(/^M\d/);
    // The words are of the newest sample, and the wallets have paid nothing since.
    const { chains } = (await (await fetch(`${origin}/console/history`)).json()) as {
      chains: { wallets: { wallet: Address; points: { wei: string }[] }[]; spending: { wei: string }[] }[];
    };
    const [paying] = chains[0]?.wallets ?? [];
    const name = `${paying?.wallet.slice(0, 6)}…${paying?.wallet.slice(-4)}`;
    const newest = formatFee(BigInt(paying?.points.at(-1)?.wei ?? "0"));
    await plot("Balances").getByText(`${name}: ${newest} ETH now`).waitFor();
    const spent = chains[0]?.spending.reduce((sum, { wei }) => sum + BigInt(wei), 0n) ?? 0n;
    expect(spent).toBeGreaterThan(0n);
    await plot("Spent by hour")
      .getByText(`${formatFee(spent)} ETH in all`)
      .waitFor();
    await page.getByText(/^block \d+, 0 blocks behind its node/).waitFor();
    const wallets = page.getByRole("region", { name: "Wallets on goerli" });
    await wallets
      .getByText(/^\d+(\.\d+)? ETH$/)
      .first()
      .waitFor();
    await wallets.getByText("yes", { exact: true }).first().waitFor();
    // The same installation, as if a wallet were halted.
    await page.route("**/status", async (route) => {
      const { chains: real, ...rest } = (await (await route.fetch()).json()) as { chains: object[] };
      await route.fulfill({ json: { ...rest, chains: real.map((one) => ({ ...one, troubles: ["wallet_halted"] })) } });
    });
    await page.getByText("Needs attention").waitFor();
    await tiles.getByRole("listitem").filter({ hasText: "Wallets" }).getByText("has a fault").waitFor();
    await page.getByText("goerli: A paying wallet is halted").waitFor();
    await page.getByRole("link", { name: "Runbook MintyardWalletHalted" }).click();
    await page.waitForURL("**/docs/guide/MintyardWalletHalted#cure");
    await page.getByRole("heading", { name: "Cure" }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test("show before a deployment what it fixes for ever, warn of contracts, and want the symbol where money is real", async () => {
    const watched = await open("/console/account");
    const { page, complaints } = watched;
    await addWallet(watched, owner, stack.ready.rpcUrl ?? "", stack.ready.chainId ?? 0);
    // The same chain, as if it were one with real money.
    await page.route("**/console/installation.json", async (route) => {
      const answer = await route.fetch();
      const { chains, ...rest } = (await answer.json()) as { chains: object[] };
      await route.fulfill({ json: { ...rest, chains: chains.map((one) => ({ ...one, local: false })) } });
    });
    const draft = {
      ...{ step: 3, chain: "goerli", name: "Review", symbol: "RVW", supply: 3, perMint: "2", price: "0.01" },
      ...{ baseUri: "ipfs://bafybeigarden/", publicStart: "2034-06-01T12:00", royalties: "5" },
      ...{ owner: owner.account.address.toLowerCase(), treasury: collection.toLowerCase() },
    };
    await page.evaluate((kept) => localStorage.setItem("mintyard-launch", kept), JSON.stringify(draft));
    await page.goto(`${origin}/console/launch`);
    // All of the address is in its field, on a phone too.
    await page.setViewportSize({ width: 360, height: 800 });
    const treasury = page.getByLabel(/^Treasury/);
    expect(await treasury.evaluate((field) => field.scrollWidth - field.clientWidth)).toBe(0);
    expect(await treasury.evaluate((field) => field.scrollHeight - field.clientHeight)).toBe(0);
    await page.getByRole("button", { name: "Next" }).click();
    const money = page.getByRole("region", { name: "Money" });
    expect(await money.textContent()).toContain(getAddress(owner.account.address));
    expect(await money.textContent()).toContain(getAddress(collection));
    await money.getByText("The treasury is a contract.").waitFor();
    expect(await money.getByText("The owner is a contract.").count()).toBe(0);
    expect(await money.getByText("for ever", { exact: true }).count()).toBe(1);
    await page.getByRole("region", { name: "Sale" }).getByText("0.01 ETH for ever").waitFor();
    // Of a treasury that is a collection the dry run says more: it takes no payments.
    await page.getByText("the treasury is a contract that refuses payments").first().waitFor();
    await page.getByRole("button", { name: "Back" }).click();
    await treasury.fill("");
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByText("Cost of the deployment").waitFor();
    const deploy = page.getByRole("button", { name: "Deploy", exact: true });
    expect(await deploy.isDisabled()).toBe(true);
    await page.getByLabel("Type the collection's symbol, RVW").fill("rvw");
    expect(await deploy.isDisabled()).toBe(true);
    await page.getByLabel("Type the collection's symbol, RVW").fill("RVW");
    expect(await deploy.isDisabled()).toBe(false);
    expect(complaints.filter((text) => !text.includes("status of 422"))).toEqual([]);
    await watched.close();
  });

  test("deploy from the creator's own wallet, which pays and becomes the admin", async () => {
    const folder = join(dir, "own");
    await mkdir(folder);
    for (let id = 0; id < 2; id += 1) await writeFile(join(folder, `${id}.png`), drawImage(id + 90));
    const watched = await open("/console/launch");
    const { page, complaints } = watched;
    await addWallet(watched, owner, stack.ready.rpcUrl ?? "", stack.ready.chainId ?? 0);
    await page.reload();
    await page.getByLabel("Name of the collection").fill("Own contract");
    await page.getByLabel("Folder of artwork").setInputFiles(folder);
    await page.getByRole("button", { name: "Store 2 pictures" }).click();
    await page.getByText("2 tokens stored at").waitFor();
    const next = () => page.getByRole("button", { name: "Next" }).click();
    await next();
    await page.getByLabel("Symbol").fill("OWN");
    await next();
    await next();
    await page.getByLabel(/^Owner/).fill(owner.account.address);
    await next();
    const balance = await chain.node.getBalance({ address: owner.account.address });
    await page.getByText("Deploy from your own wallet instead").click();
    await page.getByRole("button", { name: "Deploy with Own wallet" }).click();
    await page.getByRole("link", { name: "Open the collection" }).click();
    await page.getByRole("heading", { name: "Own contract", level: 1 }).waitFor();
    await page.getByText("0 of 2").waitFor();
    expect(await chain.node.getBalance({ address: owner.account.address })).toBeLessThan(balance);
    expect(complaints.filter((text) => !/\b40[134]\b/.test(text))).toEqual([]);
    await watched.close();
  });
});
