import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import type { Address } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { drawImage } from "../../bin/demo-images.ts";
import { connect } from "../../bin/demo-wallets.ts";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { leaseStack } from "../setup/shared-stack.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { patient } from "../setup/wait.ts";
import { addWallet, hasBrowser, openBrowser, openPage } from "./browser.ts";
import { buildPages } from "./web-fixture.ts";

describe.skipIf(!hasBrowser)("the console", () => {
  const stack = leaseStack();
  let browser: Browser;
  const folder = temporaryFolder();
  beforeAll(async () => {
    await buildPages();
    browser = await openBrowser();
    for (let id = 0; id < 3; id += 1) await writeFile(join(folder, `${id}.png`), drawImage(id + 50));
    await writeFile(join(folder, "7.txt"), "not a picture");
  });
  afterAll(async () => {
    await browser?.close();
  });

  test("a wallet signs in, a folder is launched, and the collection's page changes it", async () => {
    const origin = new URL(stack.ready.rest).origin;
    const watched = await openPage(browser, origin);
    const { page, complaints } = watched;
    page.setDefaultTimeout(patient.timeout / 5);
    const chainId = stack.ready.chainId ?? 0;
    const { createWallet, node } = connect(stack.ready.rpcUrl ?? "", chainId);
    const creator = await createWallet();
    await addWallet(watched, creator, stack.ready.rpcUrl ?? "", chainId);
    const next = () => page.getByRole("button", { name: "Next" }).click();

    await page.goto(`${origin}/console/launch`);
    await page.getByRole("button", { name: "Own wallet" }).click();
    await page.getByRole("heading", { name: "Launch a collection" }).waitFor();
    await page.getByLabel("Name of the collection").fill("Console keys");
    await page.getByLabel("Folder of artwork").setInputFiles(folder);
    await page.getByText("is neither a picture nor JSON").waitFor();
    await rm(join(folder, "7.txt"));
    await page.getByLabel("Folder of artwork").setInputFiles(folder);
    await page.getByRole("button", { name: "Store 3 pictures" }).click();
    await page.getByText("3 tokens stored at").waitFor();
    await next();
    await page.getByLabel("Symbol").fill("CKEY");
    // The tab goes away and comes back: the launch is where it was.
    await page.reload();
    expect(await page.getByLabel("Symbol").inputValue()).toBe("CKEY");
    await page.getByLabel("Reserve").fill("1");
    await next();
    await page.getByLabel(/^Presale opens/).fill("2036-01-01T00:00");
    await page
      .getByLabel("Wallets of the presale")
      .fill(`${creator.account.address}\n${creator.account.address}\nnobody`);
    await page.getByText("1 repeated row left out, 1 row without an address").waitFor();
    expect(await page.getByRole("button", { name: "Next" }).isDisabled()).toBe(true);
    const list = Buffer.from(`wallet,name\n${creator.account.address},me\n`);
    await page
      .getByLabel("File of the presale list")
      .setInputFiles({ name: "list.csv", mimeType: "text/csv", buffer: list });
    await page.getByText("1 wallet", { exact: true }).waitFor();
    await next();
    // The wallet of the session is filled in after the step has been drawn.
    await expect.poll(() => page.getByLabel(/^Owner/).inputValue(), patient).toBe(creator.account.address);
    await next();
    // What the dry run warns of stands above the button.
    await page.getByText("the presale starts no earlier than the public sale").waitFor();
    await page.getByRole("button", { name: "Deploy", exact: true }).click();
    await page.getByRole("link", { name: "Open the collection" }).click();

    await page.getByRole("heading", { name: "Console keys", level: 1 }).waitFor();
    await page.getByText("0 of 3").waitFor();
    await page.getByRole("link", { name: "Settings", exact: true }).click();
    await page.getByLabel("Royalties, per cent").fill("7.5");
    await page.getByRole("button", { name: "Check the change" }).click();
    await page.getByText(/^The chain would take this\. It needs [\d,]+ gas: 0\.\d+ ETH now/).waitFor();
    await page.getByText("the presale starts no earlier than the public sale").waitFor();
    await page.getByRole("button", { name: "Change one setting" }).click();
    await page.getByText("The change is on the chain.").waitFor();
    const receiver = `0x${"5e".repeat(20)}` as const;
    await page.getByLabel("Receiver").fill(receiver);
    await page.getByRole("button", { name: "Mint with Own wallet" }).click();
    await page.getByText("1 token of the reserve is minted.").waitFor();
    const address = new URL(page.url()).pathname.split("/").at(-2) as Address;
    const first = { address, abi: collectionAbi, functionName: "ownerOf", args: [0n] } as const;
    expect((await node.readContract(first)).toLowerCase()).toBe(receiver);
    await page.getByRole("link", { name: "Sale", exact: true }).click();
    // Nothing was sold, so there is nothing to withdraw.
    expect(await page.getByRole("button", { name: "Withdraw with Own wallet" }).isDisabled()).toBe(true);
    await page.getByRole("link", { name: "Webhooks" }).click();
    await page.getByText("No endpoint yet").or(page.getByText("New endpoint")).first().waitFor();
    await page.waitForLoadState("networkidle");
    expect(await page.getByRole("alert").count()).toBe(0);

    // The session is among the keys, and ends when its owner says so.
    await page.getByRole("link", { name: "Account" }).click();
    await page.getByText(/^Browser of 0x/).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(complaints.filter((text) => !/\b40[34]\b/.test(text))).toEqual([]);
    await watched.close();
  });
});
