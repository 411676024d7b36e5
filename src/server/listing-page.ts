import { createHash } from "node:crypto";

interface ListedEntry {
  name: string;
  cid: string;
  size: number;
}

/** The listing is for people; programs ask for the names they know. */
export const listedEntries = 1_000;

/**
 * A directory as a page of links, without scripts or external resources.
 *
 * @param count of all names; null: more than are listed.
 */
export function listingPage(
  base: string,
  cid: string,
  entries: readonly ListedEntry[],
  count: number | null = entries.length,
): string {
  const rows = entries.map(
    ({ name, size, cid: child }) =>
      `<tr><td><a href="${escapeHtml(`${base}/${encodeURIComponent(name)}`)}">${escapeHtml(name)}</a></td>` +
      `<td>${size}</td><td><code>${escapeHtml(child)}</code></td></tr>`,
  );
  const some = count === null ? `${entries.length} of more names.` : `The first ${entries.length} of ${count} names.`;
  const more = count === entries.length ? "" : `<p>${some}</p>`;
  return page(cid, ["dag-json", "car"], `${more}<table>\n${rows.join("\n")}\n</table>`);
}

/** A page with the formats in which a document is available. */
export function documentPage(cid: string): string {
  return page(cid, ["dag-json", "dag-cbor", "raw", "car"], "");
}

function page(cid: string, formats: readonly string[], body: string): string {
  const links = formats.map((format) => `<a href="?format=${format}">${format}</a>`);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(cid)}</title>
<style>body{font:14px system-ui,sans-serif;margin:2rem}td{padding:.1rem 1rem .1rem 0}td:nth-child(2){text-align:right}</style>
</head><body><h1><code>${escapeHtml(cid)}</code></h1><p>${links.join(" ")}</p>${body}</body></html>
`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Changes when the pages' templates change; part of their ETag. */
export const pagesVersion = createHash("sha256")
  .update(listingPage("", "", [{ name: "", cid: "", size: 0 }]) + documentPage(""))
  .digest("hex")
  .slice(0, 8);
