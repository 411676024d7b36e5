import { html, raw } from "hono/html";
import { markPattern, sampleOf, type ValueName } from "./example.ts";
import type { ParameterRow } from "./parameters.ts";
import type { Snippet } from "./snippets.ts";

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Text in which backticks mark code. */
export function withCode(text: string) {
  return text.split("`").map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part));
}

/** A code block with a copy button; the reader's values are elements of their own. */
export function codeBlock({ label, kind, text }: Snippet) {
  const code = escapeHtml(text.trimEnd()).replaceAll(
    markPattern,
    (_, name: ValueName) => `<var data-value="${name}">${escapeHtml(sampleOf(name))}</var>`,
  );
  const shown = label === "curl" || label === "TypeScript" ? "" : html`<p class="label">${label}</p>`;
  return html`${shown}<div class="code"><pre tabindex="0" data-kind="${kind}"><code>${raw(code)}</code></pre><button type="button" class="copy">Copy</button></div>`;
}

/** A table of an operation's parameters. @param of the table's name on the page. */
export function parameterTable(of: string, rows: readonly ParameterRow[]) {
  const lines = rows.map(
    ({ name, type, required, meaning, limits }) =>
      html`<tr><td><code>${name}</code></td><td>${type}</td><td>${required ? "yes" : ""}</td><td>${withCode(meaning)}</td><td>${limits}</td></tr>`,
  );
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Parameters of ${of}"><table><thead><tr><th>Name</th><th>Type</th><th>Required</th><th>Meaning</th><th>Limits</th></tr></thead><tbody>${lines}</tbody></table></div>`;
}
