import { openBrowser, openPage } from "../../test/web/browser.ts";

/**
 * How long a mint page takes until its buttons can be used, in a browser without a cache.
 *
 * @param slower factor by which the CPU is slowed down.
 * @returns milliseconds since the navigation.
 */
export async function timeToInteractive(url: string, slower: number): Promise<number> {
  const browser = await openBrowser();
  try {
    const { page, context } = await openPage(browser, new URL(url).origin, { width: 360, height: 800 });
    await context.addInitScript(() => {
      // The wallet buttons appear last, and work from then on.
      const look = () => {
        if (document.querySelector("main .card button")) performance.mark("interactive");
        else requestAnimationFrame(look);
      };
      look();
    });
    const session = await context.newCDPSession(page);
    await session.send("Emulation.setCPUThrottlingRate", { rate: slower });
    await page.goto(url);
    await page.waitForFunction(() => performance.getEntriesByName("interactive").length > 0);
    return await page.evaluate(() => performance.getEntriesByName("interactive")[0]?.startTime ?? Number.NaN);
  } finally {
    await browser.close();
  }
}
