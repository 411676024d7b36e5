import type { ValueName } from "../../src/reference/example.ts";

/** A piece of code of the page, as a visitor without a script copies it; `values` are marked in it. */
export interface PrintedSnippet {
  tab: string;
  kind: string;
  markup: string;
}

/** The code of every example, by its place in the page. */
export function printedExamples(page: string): Map<string, PrintedSnippet[]> {
  const articles = [...page.matchAll(/<article class="operation" id="([^"]+)">([\s\S]*?)<\/article>/g)];
  return new Map(
    articles.map(([, anchor = "", body = ""]) => {
      const tabs = body.slice(body.indexOf('<div class="tabs">'));
      const panels = [
        ...tabs.matchAll(/<div class="panel" data-tab="(\w+)">([\s\S]*?)(?=<div class="panel"|<details|$)/g),
      ];
      return [
        anchor,
        panels.flatMap(([, tab = "", panel = ""]) =>
          [...panel.matchAll(/<pre tabindex="0" data-kind="(\w+)"><code>([\s\S]*?)<\/code>/g)].map(
            ([, kind = "", markup = ""]) => ({ tab, kind, markup }),
          ),
        ),
      ];
    }),
  );
}

/** The text of a snippet with the values of a reader, as the page's script puts them in. */
export function fill(markup: string, values: Partial<Record<ValueName, string>>): string {
  return markup
    .replaceAll(
      /<var data-value="(\w+)">([\s\S]*?)<\/var>/g,
      (_, name: ValueName, sample: string) => values[name] ?? sample,
    )
    .replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));
}
