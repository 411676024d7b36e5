import type { Context } from "hono";
import { html } from "hono/html";
import { ServiceError } from "../errors/errors.ts";
import type { AppEnv } from "../http/app-env.ts";
import type { PageHead, WebPages } from "./web-pages.ts";

/** What stands around every document: where the others are, and a search over the guides. */
export function documentFrame(body: unknown) {
  return html`<header>
<nav aria-label="Documents" class="row small"><a href="/docs">API</a><a href="/docs/start">Quick start</a><a href="/docs/guide">All guides</a><a href="/console">Console</a></nav>
<p><label for="search">Search the guides</label><input id="search" type="search" autocomplete="off" /></p>
<ul id="found" aria-live="polite"></ul>
</header>
<main>${body}</main>`;
}

/** A document in the look of the pages; without their files, which an API process may lack, the same text plainly. */
export async function sendDocument(
  c: Context<AppEnv>,
  pages: WebPages,
  head: PageHead,
  body: unknown,
): Promise<Response> {
  try {
    return await pages.page(c, "docs", head, documentFrame(body));
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== "service_unavailable") throw error;
    return await c.html(html`<!doctype html>
<html lang="en">
<meta charset="utf-8" />
<title>${head.title}</title>
${body}
</html>`);
  }
}

/** A command or a program, with a button that copies it. */
export function codeBlock(code: string) {
  return html`<div class="code"><pre tabindex="0">${code}</pre><button type="button" class="copy">Copy</button></div>`;
}
