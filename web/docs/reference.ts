/* The script of the API reference: tabs, the reader's values, a filter. Without it the page shows everything. */

/** Allowed values: they become part of commands that are copied into a shell. */
const patterns: Readonly<Record<string, RegExp>> = {
  chain: /^[\w-]{1,40}$/,
  key: /^[\w.-]{8,200}$/,
  collection: /^0x[0-9a-fA-F]{40}$/,
  contract: /^0x[0-9a-fA-F]{40}$/,
  wallet: /^0x[0-9a-fA-F]{40}$/,
};
const nameOf = (value: string) => `mintyard-reference-${value}`;
/** A key is kept only until the tab closes. A browser that blocks storage throws; then nothing is kept. */
const storeOf = (value: string) => (value === "key" ? sessionStorage : localStorage);
const kept = (value: string): string | null => {
  try {
    return storeOf(value).getItem(nameOf(value));
  } catch {
    return null;
  }
};
const keep = (value: string, text: string | null): void => {
  try {
    if (text === null) storeOf(value).removeItem(nameOf(value));
    else storeOf(value).setItem(nameOf(value), text);
  } catch {
    // The value is then gone when the page is opened again.
  }
};

const all = <E extends HTMLElement>(selector: string, within: ParentNode = document) => [
  ...within.querySelectorAll<E>(selector),
];

/** Does nothing on another page. */
export function startReference(): void {
  const form = document.querySelector<HTMLElement>(".values");
  if (!form) return;
  startValues(form);
  for (const [at, group] of all(".tabs").entries()) startTabs(group, at);
  selectTab(kept("tab") ?? "curl");
  startFilter();
}

function startValues(form: HTMLElement): void {
  const places = all("var[data-value]").map((place) => ({
    place,
    name: place.dataset["value"] ?? "",
    sample: place.textContent,
  }));
  const values: Record<string, string> = location.protocol.startsWith("http") ? { url: location.origin } : {};
  const show = () => {
    for (const { place, name, sample } of places) {
      const { key } = values;
      const value = name === "keyExpression" ? key && JSON.stringify(key) : values[name];
      const text = value || sample;
      if (place.textContent !== text) place.textContent = text;
    }
  };
  for (const input of all<HTMLInputElement>("input[data-name]", form)) {
    const name = input.dataset["name"] ?? "";
    const first = input.list?.querySelector("option")?.value ?? "";
    input.value = kept(name) ?? first;
    const take = () => {
      const text = input.value.trim();
      const fits = text === "" || patterns[name]?.test(text) === true;
      input.setCustomValidity(fits ? "" : "This is no such value.");
      input.setAttribute("aria-invalid", String(!fits));
      values[name] = fits ? text : "";
      keep(name, fits && text !== "" ? text : null);
    };
    take();
    input.addEventListener("input", () => {
      take();
      show();
    });
  }
  form.hidden = false;
  show();
}

/** The tabs of one example, following the WAI-ARIA pattern: one tab is in the tab order, and arrow keys switch. */
function startTabs(group: HTMLElement, at: number): void {
  const list = document.createElement("div");
  list.role = "tablist";
  list.ariaLabel = "Languages of the example";
  for (const panel of all(".panel", group)) {
    const name = panel.dataset["tab"] ?? "";
    const heading = panel.querySelector("h4");
    const tab = document.createElement("button");
    Object.assign(tab, {
      type: "button",
      role: "tab",
      id: `tab-${at}-${name}`,
      textContent: heading?.textContent ?? "",
    });
    tab.dataset["tab"] = name;
    tab.setAttribute("aria-controls", `panel-${at}-${name}`);
    Object.assign(panel, { role: "tabpanel", id: `panel-${at}-${name}` });
    panel.setAttribute("aria-labelledby", tab.id);
    heading?.remove();
    tab.addEventListener("click", () => choose(tab));
    list.append(tab);
  }
  list.addEventListener("keydown", (event) => {
    const tabs = all<HTMLButtonElement>("[role=tab]", list);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const end = { Home: 0, End: tabs.length - 1 }[event.key];
    const from = tabs.indexOf(document.activeElement as HTMLButtonElement);
    const next = tabs[end ?? (from + (step ?? 0) + tabs.length) % tabs.length];
    if ((step === undefined && end === undefined) || !next) return;
    event.preventDefault();
    choose(next);
    next.focus();
  });
  group.prepend(list);
}

/** A choice applies to all examples; the pressed tab keeps its position on the screen. */
function choose(tab: HTMLElement): void {
  const name = tab.dataset["tab"] ?? "curl";
  const before = tab.getBoundingClientRect().top;
  keep("tab", name);
  selectTab(name);
  scrollBy({ top: tab.getBoundingClientRect().top - before, behavior: "instant" });
}

function selectTab(name: string): void {
  for (const group of all(".tabs")) {
    const tabs = all("[role=tab]", group);
    const chosen = tabs.find((tab) => tab.dataset["tab"] === name) ?? tabs[0];
    for (const tab of tabs) {
      tab.ariaSelected = String(tab === chosen);
      tab.tabIndex = tab === chosen ? 0 : -1;
    }
    for (const panel of all(".panel", group)) panel.hidden = panel.dataset["tab"] !== chosen?.dataset["tab"];
  }
}

function startFilter(): void {
  const filter = document.querySelector<HTMLElement>(".filter");
  const field = filter?.querySelector("input");
  const count = filter?.querySelector("p");
  if (!filter || !field || !count) return;
  filter.hidden = false;
  const operations = all(".operation").map((operation) => ({
    operation,
    words: all("h3, .names, .names ~ p", operation)
      .map(({ textContent }) => textContent)
      .join(" ")
      .toLowerCase(),
    entry: document.querySelector<HTMLElement>(`.side a[href="#${operation.id}"]`)?.parentElement,
  }));
  const apply = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { operation, words: text, entry } of operations) {
      const fits = words.every((word) => text.includes(word));
      shown += Number(fits);
      operation.hidden = !fits;
      if (entry) entry.hidden = !fits;
    }
    for (const task of all(".task")) {
      const own = all(".operation", task);
      task.hidden = own.length > 0 && own.every(({ hidden }) => hidden);
    }
    for (const group of all(".side nav > ul > li")) {
      const own = all("li", group);
      group.hidden = own.length > 0 && own.every(({ hidden }) => hidden);
    }
    count.textContent = words.length === 0 ? "" : `${shown} of ${operations.length} operations`;
  };
  field.addEventListener("input", apply);
  // A link may lead to a section that the filter hides.
  addEventListener("hashchange", () => {
    const target = document.getElementById(location.hash.slice(1));
    if (!target?.closest("[hidden]")) return;
    field.value = "";
    apply();
    target.scrollIntoView();
  });
}
