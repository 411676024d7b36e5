/** How long something is kept: until the tab is closed, or from one visit to the next. */
type Life = "tab" | "browser";

// Where a browser keeps nothing for pages, naming the store throws already.
const storeOf = (life: Life) => (life === "tab" ? sessionStorage : localStorage);

/** What this browser keeps of a page. In a private window, or when its store is full, it keeps nothing, and pages go on without. */
export function readKept(name: string, life: Life = "browser"): string | null {
  try {
    return storeOf(life).getItem(name);
  } catch {
    return null;
  }
}

/** @param text null: it is kept no more. @returns whether the browser did it. */
export function keep(name: string, text: string | null, life: Life = "browser"): boolean {
  try {
    if (text === null) storeOf(life).removeItem(name);
    else storeOf(life).setItem(name, text);
    return true;
  } catch {
    return false;
  }
}
