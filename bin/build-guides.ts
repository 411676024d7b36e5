import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Marked, type Token, type Tokens } from "marked";
import type { GuidePage } from "../src/server/web-manifest.ts";

/** Subjects that a visitor of the pages may want; decisions, measurements and runbooks stay with the sources. */
export async function buildGuides(docs: string): Promise<GuidePage[]> {
  const names = (await readdir(docs)).filter((name) => name.endsWith(".md")).sort();
  const known = new Set(names.map((name) => name.slice(0, -3)));
  return await Promise.all(
    names.map(async (name) => guideOf(name.slice(0, -3), await readFile(join(docs, name), "utf8"), known)),
  );
}

/** One document as HTML: text of ours, so its own markup is trusted; what it links to beside the guides stays text. */
function guideOf(name: string, source: string, known: ReadonlySet<string>): GuidePage {
  const anchors = new Map<string, number>();
  const sections: GuidePage["sections"] = [];
  let tables = 0;
  const marked = new Marked({ gfm: true });
  marked.use({
    renderer: {
      heading({ tokens, depth }) {
        const text = this.parser.parseInline(tokens);
        const title = plain(tokens);
        const anchor = anchorOf(title, anchors);
        if (depth > 1) sections.push({ anchor, title, text: "" });
        if (depth === 1) return `<h1 id="${anchor}">${text}</h1>\n`;
        // Beside the heading, not in it: a screen reader names the heading by its words alone.
        const link = `<a class="anchor" href="#${anchor}" aria-label="Link to ${escapeHtml(title)}">#</a>`;
        return `<div class="titled"><h${depth} id="${anchor}">${text}</h${depth}>${link}</div>\n`;
      },
      paragraph({ tokens }) {
        const section = sections.at(-1);
        if (section && section.text.length < 2_000) section.text += ` ${plain(tokens)}`;
        return `<p>${this.parser.parseInline(tokens)}</p>\n`;
      },
      code({ text }) {
        return `<div class="code"><pre tabindex="0"><code>${escapeHtml(text)}</code></pre><button type="button" class="copy">Copy</button></div>\n`;
      },
      table(token: Tokens.Table) {
        const row = (cells: Tokens.TableCell[], tag: string) =>
          `<tr>${cells.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join("")}</tr>`;
        const body = token.rows.map((cells) => row(cells, "td")).join("");
        // Two regions of one page may not have the same name.
        tables += 1;
        return `<div class="scroll" tabindex="0" role="region" aria-label="Table ${tables}"><table><thead>${row(token.header, "th")}</thead><tbody>${body}</tbody></table></div>\n`;
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens);
        if (/^https?:/.test(href)) return `<a href="${escapeHtml(href)}" rel="noreferrer">${text}</a>`;
        const [, page, anchor = ""] = /^(?:([\w-]+)\.md)?(#[\w-]+)?$/.exec(href) ?? [];
        if (page !== undefined && known.has(page)) return `<a href="/docs/guide/${page}${anchor}">${text}</a>`;
        return page === undefined && anchor ? `<a href="${anchor}">${text}</a>` : text;
      },
      image: ({ text }) => `<em>${escapeHtml(text)}</em>`,
    },
  });
  const html = marked.parse(source, { async: false });
  const title = /^# (.+)$/m.exec(source)?.[1]?.replaceAll("`", "") ?? name;
  return { name, title, html, sections };
}

/** The text of inline tokens without their markup. */
function plain(tokens: readonly Token[]): string {
  return tokens
    .map((token) => ("tokens" in token && token.tokens ? plain(token.tokens) : "text" in token ? token.text : ""))
    .join("");
}

/** As the hosts of repositories make them, so that links work in both places. */
function anchorOf(title: string, seen: Map<string, number>): string {
  const base = title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-");
  const times = seen.get(base) ?? 0;
  seen.set(base, times + 1);
  return times === 0 ? base : `${base}-${times}`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
