import type { Hono } from "hono";
import { html } from "hono/html";
import { guideOf } from "../errors/error-guide.ts";
import { type ErrorCode, errorTable, ServiceError } from "../errors/errors.ts";
import type { AppEnv } from "../http/app-env.ts";
import { createOpenApi } from "../rest/openapi.ts";
import { addExplorer } from "./explorer.ts";
import { addStartPage } from "./start-page.ts";

interface DocumentedOperation {
  summary: string;
}

/** `/docs`: what is served, for people; `/docs/openapi.json`: the same for programs. */
export function addDocs(app: Hono<AppEnv>): void {
  const openApi = createOpenApi();
  const operations = Object.entries(openApi["paths"] as Record<string, Record<string, DocumentedOperation>>).flatMap(
    ([path, methods]) =>
      Object.entries(methods).map(([method, { summary }]) => ({ method: method.toUpperCase(), path, summary })),
  );
  const page = html`<!doctype html>
<html lang="en">
<meta charset="utf-8" />
<title>Mintyard API</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
  code { background: #8882; padding: 0 0.25em; } td { padding: 0.2rem 1rem 0.2rem 0; vertical-align: top; }
</style>
<h1>Mintyard API</h1>
<p><a href="/docs/start">Quick start</a> for frontends, clients of the former services, creators, analysts, operators. <a href="/docs/guide">The guides</a>, with a search.</p>
<p>Send your key in the header <code>Authorization</code>. Two APIs, the same functions behind them:</p>
<ul>
  <li><a href="/graphql">GraphQL</a>, with GraphiQL in a browser</li>
  <li>REST below <code>/v0</code>: <a href="/docs/rest">try it</a>, or read the <a href="/docs/openapi.json">OpenAPI 3.1</a> document</li>
</ul>
<h2>REST</h2>
<table>${operations.map(({ method, path, summary }) => html`<tr><td><code>${method}</code></td><td><code>${path}</code></td><td>${summary}</td></tr>`)}</table>
<h2>Error codes</h2>
<table>${Object.entries(errorTable).map(([code, { status, retryable }]) => html`<tr><td><a href="/docs/errors/${code}"><code>${code}</code></a></td><td>${status}</td><td>${retryable ? "the same request may succeed later" : ""}</td></tr>`)}</table>
</html>`;
  app.get("/", (c) => c.json({ title: "Mintyard", description: "NFT launch and data service", version: "0.2.0" }));
  app.get("/docs", (c) => c.html(page));
  app.get("/docs/errors/:code", (c) => {
    const code = c.req.param("code");
    if (!Object.hasOwn(errorTable, code)) throw new ServiceError("not_found", "there is no error of this code");
    return c.html(errorPage(code as ErrorCode));
  });
  addStartPage(app);
  addExplorer(app);
  app.get("/docs/openapi.json", (c) => c.json(openApi));
}

/** Guides mark code by backticks, as the texts of errors do. */
function withCode(text: string) {
  return text.split("`").map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part));
}

/** What an answer's `docs` member points at. */
function errorPage(code: ErrorCode) {
  const { status, retryable } = errorTable[code];
  const { cause, fix } = guideOf(code);
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8" />
<title>${code} – Mintyard API</title>
<style>body { font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 2rem auto; padding: 0 1rem; }</style>
<p><a href="/docs">Mintyard API</a></p>
<h1><code>${code}</code></h1>
<p>Status ${status}. ${retryable ? "The same request may succeed later." : "The same request will fail again."}</p>
<h2>Why</h2>
<p>${withCode(cause)}</p>
<h2>What to do</h2>
<p>${withCode(fix)}</p>
</html>`;
}
