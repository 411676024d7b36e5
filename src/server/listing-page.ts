interface ListedEntry {
  name: string;
  cid: string;
  size: number;
}

/** A page of names is for people; programs ask for the names they know. */
const listedEntries = 1_000;

/** A directory as a page of links, without a script and without anything from elsewhere. */
export function listingPage(base: string, cid: string, entries: readonly ListedEntry[]): string {
  const rows = entries
    .slice(0, listedEntries)
    .map(
      ({ name, size, cid: child }) =>
        `<tr><td><a href="${escapeHtml(`${base}/${encodeURIComponent(name)}`)}">${escapeHtml(name)}</a></td>` +
        `<td>${size}</td><td><code>${escapeHtml(child)}</code></td></tr>`,
    );
  const more = entries.length > listedEntries ? `<p>The first ${listedEntries} of ${entries.length} names.</p>` : "";
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(cid)}</title>
<style>body{font:14px system-ui,sans-serif;margin:2rem}td{padding:.1rem 1rem .1rem 0}td:nth-child(2){text-align:right}</style>
</head><body><h1><code>${escapeHtml(cid)}</code></h1>${more}<table>
${rows.join("\n")}
</table></body></html>
`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
