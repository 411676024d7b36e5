/** How long something is stored: until the tab is closed, or across visits. */
type Life = "tab" | "browser";

// In a browser that blocks storage, even accessing these properties throws.
const storeOf = (life: Life) => (life === "tab" ? sessionStorage : localStorage);

/** What this browser stored for the page. Pages work without it, as in a private window or with full storage. */
export function readKept(name: string, life: Life = "browser"): string | null {
  try {
    return storeOf(life).getItem(name);
  } catch {
    return null;
  }
}

/** @param text null: deletes it. @returns whether the browser did it. */
export function keep(name: string, text: string | null, life: Life = "browser"): boolean {
  try {
    if (text === null) storeOf(life).removeItem(name);
    else storeOf(life).setItem(name, text);
    return true;
  } catch {
    return false;
  }
}
