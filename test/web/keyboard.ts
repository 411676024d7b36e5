import type { Page } from "playwright-core";

/** What has the focus, by the words that a screen reader would say. */
async function focused(page: Page): Promise<string> {
  return await page.evaluate(() => {
    const element = document.activeElement as HTMLElement | null;
    if (!element) return "";
    const labels = [...((element as HTMLInputElement).labels ?? [])].map((label) => label.textContent ?? "");
    return [element.getAttribute("aria-label") ?? "", ...labels, element.textContent ?? ""].join(" ").trim();
  });
}

/** By page and key; what is typed into fields is left out. */
const pressed = new WeakMap<Page, Record<string, number>>();

/** How often the functions below have pressed each key of a page. */
export function pressedKeys(page: Page): Record<string, number> {
  return pressed.get(page) ?? {};
}

async function press(page: Page, key: "Enter" | "Tab"): Promise<void> {
  const keys = pressedKeys(page);
  pressed.set(page, { ...keys, [key]: (keys[key] ?? 0) + 1 });
  await page.keyboard.press(key);
}

/**
 * Presses Tab until the element whose words begin with a text has the focus.
 *
 * @throws Error when a hundred presses do not lead there.
 */
async function tabTo(page: Page, text: string): Promise<void> {
  const seen: string[] = [];
  for (let presses = 0; presses < 100; presses += 1) {
    const name = await focused(page);
    if (name.startsWith(text)) return;
    seen.push(name.split("\n")[0] ?? "");
    await press(page, "Tab");
  }
  throw new Error(`Tab never reaches "${text}"; it went over ${[...new Set(seen)].join(" | ")}`);
}

/** Reaches an element by Tab and presses Enter. */
export async function enterOn(page: Page, text: string): Promise<void> {
  await tabTo(page, text);
  await press(page, "Enter");
}

/** Reaches a field by Tab and types over what it has. */
export async function typeInto(page: Page, label: string, value: string): Promise<void> {
  await tabTo(page, label);
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.type(value);
}
