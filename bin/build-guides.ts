import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { Marked, type Token, type Tokens } from "marked";
import type { GuidePage } from "../src/server/web-manifest.ts";

interface Picture {
  /** File name below `/assets`, with a hash of its bytes. */
  asset: string;
  bytes: Buffer;
  width: number;
  height: number;
}

interface Known {
  guides: ReadonlySet<string>;
  /** By path in `docs/`. */
  pictures: ReadonlyMap<string, Picture>;
}

interface Source {
  name: string;
  path: string;
  isRunbook: boolean;
}

/** The documents that become pages; the list of runbooks becomes the guide `runbooks`. */
export async function guideSources(docs: string): Promise<Source[]> {
  const documents = async (folder: string) => (await readdir(folder)).filter((name) => name.endsWith(".md")).sort();
  const guides = await documents(docs);
  const runbooks = (await documents(join(docs, "runbooks"))).filter((name) => name !== "README.md");
  const nameOf = (file: string) => file.slice(0, -3);
  return [
    ...guides.map((file) => ({ name: nameOf(file), path: join(docs, file), isRunbook: false })),
    { name: "runbooks", path: join(docs, "runbooks/README.md"), isRunbook: false },
    ...runbooks.map((file) => ({ name: nameOf(file), path: join(docs, "runbooks", file), isRunbook: true })),
  ];
}

/**
 * Only subjects for visitors of the pages and for operators; decisions and measurements stay in the repository.
 *
 * @returns the pages, and the pictures that they show.
 */
export async function buildGuides(docs: string): Promise<{ guides: GuidePage[]; pictures: Picture[] }> {
  const files = await guideSources(docs);
  const sources = await Promise.all(files.map(({ path }) => readFile(path, "utf8")));
  const paths = sources.flatMap((source) => [...source.matchAll(/!\[[^\]]*\]\((pictures\/[\w-]+\.png)\)/g)]);
  const pictures = new Map<string, Picture>();
  for (const [, path = ""] of paths) pictures.set(path, await readPicture(docs, path));
  const known = { guides: new Set(files.map(({ name }) => name)), pictures };
  const guides = files.map((file, index) => guideOf(file, sources[index] ?? "", known));
  return { guides, pictures: [...pictures.values()] };
}

async function readPicture(docs: string, path: string): Promise<Picture> {
  const bytes = await readFile(join(docs, path));
  const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 8);
  // The first chunk of a PNG begins with its width and its height.
  const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  return { asset: `${basename(path, ".png")}-${hash}.png`, bytes, width, height };
}

/** One document as HTML. The text is ours, so its markup is trusted; links to anything but guides become text. */
function guideOf({ name, isRunbook }: Source, source: string, known: Known): GuidePage {
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
        // Next to the heading, not in it: a screen reader reads a heading's content as its name.
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
        // Two regions of one page must not have the same name.
        tables += 1;
        return `<div class="scroll" tabindex="0" role="region" aria-label="Table ${tables}"><table><thead>${row(token.header, "th")}</thead><tbody>${body}</tbody></table></div>\n`;
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens);
        // Documents link to the reader's own server in this form.
        const [, own] = /^http:\/\/127\.0\.0\.1:3000(\/.*)$/.exec(href) ?? [];
        if (own !== undefined) return `<a href="${escapeHtml(own)}">${text}</a>`;
        if (/^https?:/.test(href)) return `<a href="${escapeHtml(href)}" rel="noreferrer">${text}</a>`;
        const path = href.replace(/^runbooks\/README\.md/, "runbooks.md").replace(/^(?:runbooks|\.\.)\//, "");
        const [, page, anchor = ""] = /^(?:([\w-]+)\.md)?(#[\w-]+)?$/.exec(path) ?? [];
        if (page !== undefined && known.guides.has(page)) return `<a href="/docs/guide/${page}${anchor}">${text}</a>`;
        return page === undefined && anchor ? `<a href="${anchor}">${text}</a>` : text;
      },
      image({ href, text }) {
        const picture = known.pictures.get(href);
        if (!picture) return `<em>${escapeHtml(text)}</em>`;
        const { asset, width, height } = picture;
        return `<img src="/assets/${asset}" alt="${escapeHtml(text)}" width="${width}" height="${height}" loading="lazy" />`;
      },
    },
  });
  const html = marked.parse(source, { async: false });
  const title = /^# (.+)$/m.exec(source)?.[1]?.replaceAll("`", "") ?? name;
  return { name, title, html, sections, isRunbook };
}

/** The text of inline tokens without their markup. */
function plain(tokens: readonly Token[]): string {
  return tokens
    .map((token) => ("tokens" in token && token.tokens ? plain(token.tokens) : "text" in token ? token.text : ""))
    .join("");
}

/** As repository hosts make them, so that links work in both places. */
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
