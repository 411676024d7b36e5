import type { Browser, Page } from "playwright-core";
import { openBrowser, openPage } from "../../test/web/browser.ts";
import { cutAt, type LaunchJob, mostDifference } from "./launch-job.ts";
import { residentMegabytes } from "./process-memory.ts";

/** The console's upload of a folder; its tab is closed once halfway. */
export async function launchInBrowser(job: LaunchJob): Promise<void> {
  const { stack, key, count, bytesEach, stored, figures } = job;
  const origin = new URL(stack.ready.rest).origin;
  const browser = await openBrowser();
  try {
    const { page, context, complaints } = await openPage(browser, origin);
    await context.addInitScript((secret) => sessionStorage.setItem("mintyard-key", secret), key);
    const seen = { megabytes: 0, difference: 0 };
    const began = performance.now();
    await begin(page, job, origin);
    await watch(browser, page, job, seen, cutAt * count);
    await page.close();
    figures.note("browser_stored_at_cut", await stored());
    const second = await context.newPage();
    await begin(second, job, origin);
    await watch(browser, second, job, seen, Number.POSITIVE_INFINITY);
    const seconds = (performance.now() - began) / 1_000;
    figures.note("browser_seconds", seconds);
    figures.note("browser_megabytes_per_second", (count * bytesEach) / 1_000_000 / seconds);
    figures.check("browser_tab_mb", seen.megabytes, 400);
    figures.check("browser_progress_difference_percent", seen.difference, mostDifference);
    figures.check("browser_files_stored_twice", Math.abs((await stored()) - count), 0);
    if (complaints.length > 0) throw new Error(complaints.join("\n"));
  } finally {
    await browser.close();
  }
}

async function begin(page: Page, { folder, count }: LaunchJob, origin: string): Promise<void> {
  page.setDefaultTimeout(120_000);
  await page.goto(`${origin}/console/launch`);
  await page.getByLabel("Name of the collection").fill("Large");
  await page.getByLabel("Folder of artwork").setInputFiles(folder);
  await page.getByRole("button", { name: `Store ${count.toLocaleString("en")} pictures` }).click();
}

/** Waits until so many files are stored, or all of them and their documents. */
async function watch(
  browser: Browser,
  page: Page,
  { count, stored }: LaunchJob,
  seen: { megabytes: number; difference: number },
  until: number,
): Promise<void> {
  for (;;) {
    const text = (await page.locator("main").textContent()) ?? "";
    const now = await stored();
    seen.megabytes = Math.max(seen.megabytes, await tabMegabytes(browser));
    if (text.includes("tokens stored at")) return;
    const failure = await page
      .locator(".notice.wrong")
      .first()
      .textContent({ timeout: 50 })
      .catch(() => null);
    if (failure) throw new Error(failure);
    const [, files, kept = "0"] = /(\d+) of \d+ files,(?:.*?; (\d+) were stored already)?/.exec(text) ?? [];
    // Files stored earlier are looked up first, and do not count as this tab's progress yet.
    if (files !== undefined && Number(files) > Number(kept))
      seen.difference = Math.max(seen.difference, (100 * Math.abs(Number(files) - now)) / count);
    if (now >= until) return;
    await new Promise((done) => setTimeout(done, 250));
  }
}

/** Memory of the largest renderer, which is the tab's. */
async function tabMegabytes(browser: Browser): Promise<number> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  return Math.max(0, ...processInfo.filter(({ type }) => type === "renderer").map(({ id }) => residentMegabytes(id)));
}
