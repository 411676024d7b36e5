import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import type { Browser } from "playwright-core";
import type { Address } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { drawImage } from "../../bin/demo-images.ts";
import { connect, type Wallet } from "../../bin/demo-wallets.ts";
import { leaseStack } from "../setup/shared-stack.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { patient } from "../setup/wait.ts";
import { addWallet, hasBrowser, openBrowser, openPage, signOnly, type WatchedPage } from "./browser.ts";
import { enterOn, pressedKeys, typeInto } from "./keyboard.ts";
import { readmeSteps } from "./readme-steps.ts";
import { buildPages } from "./web-fixture.ts";

// Whole launches in the console, as a creator makes them, with the tab and the server going away in between.
describe.skipIf(!hasBrowser)("a launch in the console", () => {
  const stack = leaseStack();
  let browser: Browser;
  let database: pg.Client;
  const dir = temporaryFolder();
  let origin: string;
  let chain: ReturnType<typeof connect>;
  beforeAll(async () => {
    await buildPages();
    browser = await openBrowser();
    origin = new URL(stack.ready.rest).origin;
    chain = connect(stack.ready.rpcUrl ?? "", stack.ready.chainId ?? 0);
    database = new pg.Client({ connectionString: stack.ready.databaseUrl });
    await database.connect();
  });
  afterAll(async () => {
    await database?.end().catch(() => undefined);
    await browser?.close();
  });

  /** Pictures that no other test has, with documents that have traits. */
  async function makeFolder(name: string, count: number): Promise<string> {
    const folder = join(dir, name);
    await mkdir(folder);
    for (let id = 0; id < count; id += 1) {
      const own = Buffer.from(`${name} ${Date.now()} ${id}`);
      await writeFile(join(folder, `${id}.png`), Buffer.concat([drawImage(id, 64), own]));
      const attributes = [{ trait_type: "Parity", value: id % 2 === 0 ? "even" : "odd" }];
      await writeFile(join(folder, `${id}.json`), JSON.stringify({ name: `${name} #${id}`, attributes }));
    }
    return folder;
  }

  /** A page with a wallet of its own; the context stays when the page is closed. */
  async function open(wallet: Wallet, path: string): Promise<WatchedPage> {
    const watched = await openPage(browser, origin);
    watched.page.setDefaultTimeout(60_000);
    await addWallet(watched, wallet, stack.ready.rpcUrl ?? "", stack.ready.chainId ?? 0);
    await watched.page.goto(origin + path);
    return watched;
  }

  async function numberOf(query: string, wallet: Wallet): Promise<number> {
    const account = `(SELECT account_id FROM service.wallet_login WHERE address = decode($1, 'hex'))`;
    const text = query.replace("THE_ACCOUNT", account);
    const { rows } = await database.query<{ count: string }>(text, [wallet.account.address.slice(2)]);
    return Number(rows[0]?.count);
  }
  const files = "SELECT count(*) FROM service.upload WHERE kind = 'file' AND account_id = THE_ACCOUNT";
  const distinctFiles = files.replace("count(*)", "count(DISTINCT cid)");
  const deployments = "SELECT count(*) FROM service.intent WHERE kind = 'deploy' AND tenant_id = THE_ACCOUNT";

  test("of 100 pictures is made by keyboard alone: one collection, each file stored once", async () => {
    const folder = await makeFolder("Keyboard", 100);
    const creator = await chain.createWallet();
    const watched = await open(creator, "/console");
    const { page } = watched;
    await page.getByRole("button", { name: "Own wallet" }).waitFor();
    await enterOn(page, "Own wallet");
    await page.getByRole("heading", { name: "Collections" }).waitFor();
    await enterOn(page, "Launch");
    await page.getByRole("heading", { name: "Launch a collection" }).waitFor();
    await typeInto(page, "Name of the collection", "Keyboard");
    // The browser hands the chooser over from here on. Asked for with the key itself, it came too late in some runs.
    let giveFiles: Promise<void> | undefined;
    page.once("filechooser", (chooser) => {
      giveFiles = chooser.setFiles(folder);
    });
    await enterOn(page, "Choose a folder");
    await page.getByRole("button", { name: "Store 100 pictures" }).waitFor();
    await giveFiles;
    await enterOn(page, "Store 100 pictures");
    await page.getByText("100 tokens stored at").waitFor();
    await enterOn(page, "Next");
    await page.getByLabel("Symbol").waitFor();
    await typeInto(page, "Symbol", "KEYB");
    await enterOn(page, "Next");
    await page.getByLabel("Price of one token").waitFor();
    await typeInto(page, "Price of one token", "0.02");
    await enterOn(page, "Next");
    await page.getByLabel("Royalties").waitFor();
    // The wallet of the session is filled in after the step has been drawn; without an owner there is no next step.
    await expect.poll(() => page.getByLabel(/^Owner/).inputValue(), patient).not.toBe("");
    await enterOn(page, "Next");
    await page.locator("dt", { hasText: "Address" }).waitFor();
    await enterOn(page, "Deploy");
    await page.getByRole("link", { name: "Open the collection" }).waitFor();
    await enterOn(page, "Open the collection");
    await page.getByText("0 of 100").first().waitFor();
    const keys = pressedKeys(page);
    console.info(`keys from signing in to the collection's page: ${JSON.stringify(keys)}`);
    // As many as there would be clicks.
    expect(keys["Enter"]).toBe(10);
    expect(await numberOf(files, creator)).toBe(100);
    expect(await numberOf(distinctFiles, creator)).toBe(100);
    expect(await numberOf(deployments, creator)).toBe(1);
    expect(watched.complaints.filter((text) => !/\b40[134]\b/.test(text))).toEqual([]);
    await watched.close();
  });

  test("goes on after a closed tab and a server that was away, and is revealed after a look at three tokens", async () => {
    const count = 40;
    const folder = await makeFolder("Interrupted", count);
    const creator = await chain.createWallet();
    const watched = await open(creator, "/console/launch");
    const { page } = watched;
    await page.getByRole("button", { name: "Own wallet" }).click();
    await page.getByLabel("Name of the collection").fill("Interrupted");
    await page.getByLabel("Hide the artwork until I reveal it").check();
    const placeholder = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M2 2h5v5H2z"/></svg>';
    const choose = async (at = page) => {
      const picture = { name: "until then.svg", mimeType: "image/svg+xml", buffer: Buffer.from(placeholder) };
      await at.getByLabel("Picture until then").setInputFiles(picture);
      await at.getByLabel("Folder of artwork").setInputFiles(folder);
      await at.getByRole("button", { name: `Store ${count} pictures` }).click();
    };
    // The tab is closed in the middle: what comes after twenty files waits until then.
    let asked = 0;
    await page.route("**/v0/files", async (route) => {
      asked += 1;
      if (asked <= 20) await route.continue();
    });
    await choose();
    await page.getByText(/^1\d of 40 files|^20 of 40 files/).waitFor();
    await page.close();
    const sent = await numberOf(files, creator);
    expect(sent).toBeLessThan(count);

    // Another tab of the same browser: what was stored is not sent again. The server goes away in the middle of it.
    const second = await watched.context.newPage();
    second.setDefaultTimeout(120_000);
    await second.goto(`${origin}/console/launch`);
    expect(await second.getByLabel("Name of the collection").inputValue()).toBe("Interrupted");
    // A proxy that finds no server answers with a page of its own, or cuts the connection.
    const badGateway = { status: 502, contentType: "text/html", body: "<h1>502 Bad Gateway</h1>" };
    await second.route("**/v0/files", (route) => route.fulfill(badGateway), { times: 1 });
    await second.route("**/v0/files", (route) => route.abort("connectionreset"), { times: 1 });
    await second.route("**/v0/metadata/directory*", (route) => route.fulfill(badGateway), { times: 1 });
    await choose(second);
    await second.getByText(/were stored already/).waitFor();
    await database.end();
    await stack.restart();
    database = new pg.Client({ connectionString: stack.ready.databaseUrl });
    await database.connect();
    await second.getByText(`${count} tokens stored at`).waitFor();
    // With the placeholder and its picture, which each of the two tabs stored.
    expect(await numberOf(distinctFiles, creator)).toBe(count + 2);
    expect(await numberOf(files.replace("WHERE", "WHERE file_name LIKE '%.png' AND"), creator)).toBe(count);
    await second.getByRole("button", { name: "Next" }).click();
    await second.getByLabel("Symbol").fill("INT");
    for (let step = 0; step < 2; step += 1) await second.getByRole("button", { name: "Next" }).click();
    // The wallet of the session is filled in after the step has been drawn.
    await expect.poll(() => second.getByLabel(/^Owner/).inputValue(), patient).not.toBe("");
    await second.getByRole("button", { name: "Next" }).click();

    // The tab is closed in the moment in which the request leaves.
    await second.getByText("Cost of the deployment").waitFor();
    const leaves = second.waitForRequest(
      (request) => request.method() === "POST" && request.url().endsWith("/v0/contracts/collections"),
    );
    await Promise.all([leaves, second.getByRole("button", { name: "Deploy", exact: true }).click()]);
    await second.close();
    const third = await watched.context.newPage();
    third.setDefaultTimeout(60_000);
    await third.goto(`${origin}/console/launch`);
    // Where the request did not get out any more, its creator presses again.
    const stands = third.getByRole("link", { name: "Open the collection" });
    const again = third.getByRole("button", { name: "Deploy", exact: true });
    await stands.or(again).first().waitFor();
    if (await again.isVisible()) await again.click().catch(() => undefined);
    await stands.click();
    await third.getByRole("heading", { name: "Interrupted", level: 1 }).waitFor();
    expect(await numberOf(deployments, creator)).toBe(1);

    const saleOf = async () => {
      const address = third
        .url()
        .split("/")
        .find((part) => part.startsWith("0x"));
      return (await (await fetch(`${origin}/mint/goerli/${address}/sale`)).json()) as {
        revealed: boolean;
        preview: { image: string };
      };
    };
    const shown = await saleOf();
    expect(shown.revealed).toBe(false);
    expect(await (await fetch(origin + shown.preview.image)).text()).toBe(placeholder);
    await third.getByRole("link", { name: "Reveal it" }).click();
    await third.getByRole("heading", { name: "Reveal" }).waitFor();
    // The folder of this launch is chosen already; it is one of those that were stored.
    const chosen = await third.getByLabel(/^Folder of the metadata/).inputValue();
    await expect.poll(() => third.getByLabel("Stored folder").inputValue(), patient).toBe(chosen);
    const preview = third.getByRole("list", { name: "Preview" });
    await preview.getByText("Interrupted #2").waitFor();
    expect(await preview.getByRole("listitem").count()).toBe(3);
    await third.getByText("40 tokens are not minted yet").waitFor();
    await third.getByRole("button", { name: "Check the reveal" }).click();
    await third.getByText(/^The chain would take this/).waitFor();
    await third.getByRole("button", { name: "Reveal all tokens" }).click();
    await third.getByText("The change is on the chain.").waitFor();
    await third.getByRole("heading", { name: "Artwork" }).waitFor();
    // The public page's settings may be two seconds old.
    await expect.poll(async () => (await saleOf()).revealed, patient).toBe(true);
    await third.getByRole("link", { name: "Activity" }).click();
    const changes = third.getByLabel("Table of changes").getByRole("row");
    await changes
      .filter({ hasText: `Revealed: ${chosen}` })
      .filter({ hasText: "done" })
      .waitFor();
    await changes.filter({ hasText: "Deployed" }).waitFor();
    await watched.context.close();
  });

  test("of 30 pictures with presale and reveal, and a withdrawal that is dropped and replaced, are made by touch alone", async () => {
    const folder = await makeFolder("Touched", 30);
    const creator = await chain.createWallet();
    const watched = await openPage(browser, origin, { width: 360, height: 740, phone: true });
    const { page, complaints } = watched;
    page.setDefaultTimeout(120_000);
    const wallet = await addWallet(watched, creator, stack.ready.rpcUrl ?? "", stack.ready.chainId ?? 0);
    let taps = 0;
    const needed: Record<string, number> = {};
    const tap = async (role: "button" | "link" | "checkbox", name: string) => {
      await page.getByRole(role, { name, exact: true }).first().tap();
      taps += 1;
    };
    const counted = (task: string) => {
      needed[task] = taps;
      taps = 0;
    };
    await page.goto(`${origin}/console`);
    await tap("button", "Own wallet");
    await page.getByRole("heading", { name: "Collections" }).waitFor();
    taps = 0;
    await tap("link", "Launch");
    await page.getByLabel("Name of the collection").fill("Touched");
    await tap("checkbox", "Hide the artwork until I reveal it");
    const chooser = page.waitForEvent("filechooser");
    await tap("button", "Choose a folder");
    await (await chooser).setFiles(folder);
    await tap("button", "Store 30 pictures");
    await page.getByText("30 tokens stored at").waitFor();
    await tap("button", "Next");
    await page.getByLabel("Symbol").fill("TCH");
    await tap("button", "Next");
    await page.getByLabel(/^Presale opens/).fill("2036-01-01T00:00");
    await page.getByLabel("Wallets of the presale").fill(creator.account.address);
    await tap("button", "Next");
    await expect.poll(() => page.getByLabel(/^Owner/).inputValue(), patient).not.toBe("");
    await tap("button", "Next");
    await tap("button", "Deploy");
    await tap("link", "Open the collection");
    await page.getByText("0 of 30").first().waitFor();
    counted("launch");

    await tap("link", "Reveal it");
    await tap("button", "Check the reveal");
    await tap("button", "Reveal all tokens");
    await page.getByText("The change is on the chain.").waitFor();
    counted("reveal");

    const address = page
      .url()
      .split("/")
      .find((part) => part.startsWith("0x")) as Address;
    await page.goto(`${origin}/mint/goerli/${address}`);
    await tap("button", "Own wallet");
    await tap("button", "Mint 1");
    await page.getByRole("heading", { name: "Here is your token" }).waitFor();
    counted("mint");

    await page.goto(`${origin}/console/collections/goerli/${address}`);
    wallet.send = (call) => signOnly(creator, call);
    await tap("button", "Withdraw with Own wallet");
    await page.getByText("The network has dropped the transaction; the money is still in the contract.").waitFor();
    wallet.send = async (call) => {
      const hash = await signOnly(creator, call);
      const other = await creator.sendTransaction({ to: creator.account.address, value: 0n });
      await chain.node.waitForTransactionReceipt({ hash: other });
      return hash;
    };
    await tap("button", "Withdraw with Own wallet");
    await page.getByText("Another transaction of this wallet took this one's place").waitFor();
    expect(await chain.node.getBalance({ address })).toBe(10n ** 16n);
    wallet.send = undefined;
    await tap("button", "Withdraw with Own wallet");
    await page.getByText(/are in the treasury\. Transaction 0x/).waitFor();
    expect(await chain.node.getBalance({ address })).toBe(0n);
    counted("withdraw, dropped, replaced");
    console.info(`taps, beside those into fields and in the wallet: ${JSON.stringify(needed)}`);
    expect(needed).toEqual({ launch: 10, reveal: 3, mint: 2, "withdraw, dropped, replaced": 3 });
    expect(complaints.filter((text) => !/\b40[134]\b/.test(text))).toEqual([]);
    await watched.close();
  });

  test("leads from the README's steps to a token in the browser, without a wallet of one's own", async () => {
    const folder = await makeFolder("Readme", 2);
    const watched = await openPage(browser, origin);
    const { page } = watched;
    page.setDefaultTimeout(60_000);
    const [start = "", console = "", ...steps] = await readmeSteps();
    expect(start).toContain("`npm start`");
    await page.goto(origin + new URL(/<([^>]+)>/.exec(console)?.[1] ?? "").pathname);
    // What a step has in bold is pressed; what else it asks for stands here in its words.
    const acts: Record<string, () => Promise<void>> = {
      "name the collection": () => page.getByLabel("Name of the collection").fill("Readme"),
      "choose a folder": () => page.getByLabel("Folder of artwork").setInputFiles(folder),
      "Type a symbol": () => page.getByLabel("Symbol").fill("RDM"),
    };
    const pattern = new RegExp(`\\*\\*([^*]+)\\*\\*( three times)?|${Object.keys(acts).join("|")}`, "g");
    for (const step of steps)
      for (const [words, name, thrice] of step.matchAll(pattern)) {
        const startsSo = { name: new RegExp(`^${name}`) };
        const target = page.getByRole("button", startsSo).or(page.getByRole("link", startsSo)).first();
        // A button that waits for something cannot be pressed until then.
        if (name) for (let times = thrice ? 3 : 1; times > 0; times -= 1) await target.click();
        else await acts[words]?.();
      }
    await page.getByRole("heading", { name: "Here is your token" }).waitFor();
    await page.getByText("Readme #0").waitFor();
    expect(watched.complaints.filter((text) => !/\b40[134]\b/.test(text))).toEqual([]);
    await watched.close();
  });
});
