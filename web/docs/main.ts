import "../shared/theme.css";
import "./docs.css";
import "./reference.css";
import { startReference } from "./reference.ts";

interface Section {
  page: string;
  pageTitle: string;
  anchor: string;
  title: string;
  text: string;
}

for (const button of document.querySelectorAll<HTMLButtonElement>("button.copy"))
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.parentElement?.querySelector("pre")?.textContent ?? "");
    button.textContent = "Copied";
    setTimeout(() => {
      button.textContent = "Copy";
    }, 2_000);
  });

startReference();

// On a narrow screen the list of guides would come before the guide.
const side = document.querySelector<HTMLDetailsElement>("details.side");
if (side && innerWidth < 960) side.open = false;

const field = document.querySelector<HTMLInputElement>("#search");
const list = document.querySelector<HTMLElement>("#found");
let sections: Promise<Section[]> | null = null;

/** Sections that contain every word; those with the words in their title come first. */
function matches(all: readonly Section[], text: string): Section[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (where: string) => words.every((word) => where.toLowerCase().includes(word));
  const found = all.filter(({ pageTitle, title, text: body }) => has(`${pageTitle} ${title} ${body}`));
  const inTitle = found.filter(({ title }) => has(title));
  return [...inTitle, ...found.filter((section) => !inTitle.includes(section))].slice(0, 20);
}

field?.addEventListener("input", async () => {
  sections ??= fetch("/docs/guide/search.json").then((answer) => answer.json() as Promise<Section[]>);
  const text = field.value.trim();
  const found = text.length < 2 ? [] : matches(await sections, text);
  const items = found.map(({ page, pageTitle, anchor, title }) => {
    const link = document.createElement("a");
    link.href = `/docs/guide/${page}#${anchor}`;
    link.textContent = `${pageTitle}: ${title}`;
    const item = document.createElement("li");
    item.append(link);
    return item;
  });
  const none = document.createElement("li");
  none.textContent = "Nothing has these words.";
  list?.replaceChildren(...(items.length === 0 && text.length >= 2 ? [none] : items));
});
