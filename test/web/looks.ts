import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect } from "vitest";

/** How a visitor's screen may be. */
export interface Look {
  width: number;
  dark: boolean;
}

/** Takes pictures into the folder that `PAGE_PICTURES` names, to look at; without it none. */
const folder = process.env["PAGE_PICTURES"];

const widths = [360, 768, 1280];
const everyLook: readonly Look[] = widths.flatMap((width) => [false, true].map((dark) => ({ width, dark })));

/** Each width, and each theme in a narrow and in a wide layout; for pictures each theme of each width. */
export const looks = everyLook.filter(({ width, dark }) => folder || width === 360 || dark === (width === 1280));

export const nameOf = ({ width, dark }: Look) => `${width}${dark ? "-dark" : ""}`;

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

/**
 * A page as it is now has no finding of axe, and nothing of it stands beyond its width.
 *
 * @param state of the page, in a word. @param options `fullPage`: whether its picture has all of it.
 */
export async function checkLook(page: Page, state: string, look: Look, { fullPage = true } = {}): Promise<void> {
  if (folder) {
    await mkdir(folder, { recursive: true });
    await page.screenshot({ path: join(folder, `${state}-${nameOf(look)}.png`), fullPage });
  }
  expect([state, look, await findings(page)]).toEqual([state, look, []]);
  const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect([state, look, beyond]).toEqual([state, look, 0]);
}
