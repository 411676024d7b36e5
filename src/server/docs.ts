import type { Hono } from "hono";
import { html } from "hono/html";
import { guideOf } from "../errors/error-guide.ts";
import { type ErrorCode, errorTable, ServiceError } from "../errors/errors.ts";
import type { AppEnv } from "../http/app-env.ts";
import { createOpenApi } from "../rest/openapi.ts";
import { sendDocument } from "./document-frame.ts";
import { addExplorer } from "./explorer.ts";
import { addStartPage } from "./start-page.ts";
import type { WebPages } from "./web-pages.ts";

interface DocumentedOperation {
  summary: string;
}

/** `/docs`: what is served, for people; `/docs/openapi.json`: the same for programs. */
export function addDocs(app: Hono<AppEnv>, pages: WebPages): void {
  const openApi = createOpenApi();
  const operations = Object.entries(openApi["paths"] as Record<string, Record<string, DocumentedOperation>>).flatMap(
    ([path, methods]) =>
      Object.entries(methods).map(([method, { summary }]) => ({ method: method.toUpperCase(), path, summary })),
  );
  const page = html`<h1>Mintyard API</h1>
<p><a href="/docs/start">Quick start</a> for frontends, clients of the former services, creators, analysts, operators. <a href="/docs/guide">The guides</a>, with a search.</p>
<p>Send your key in the header <code>Authorization</code>. Two APIs, the same functions behind them:</p>
<ul>
  <li><a href="/graphql">GraphQL</a>, with GraphiQL in a browser</li>
  <li>REST below <code>/v0</code>: <a href="/docs/rest">try it</a>, or read the <a href="/docs/openapi.json">OpenAPI 3.1</a> document</li>
</ul>
<h2>REST</h2>
<section class="scroll" tabindex="0" aria-label="Operations"><table>${operations.map(({ method, path, summary }) => html`<tr><td><code>${method}</code></td><td><code>${path}</code></td><td>${summary}</td></tr>`)}</table></section>
<h2>Error codes</h2>
<section class="scroll" tabindex="0" aria-label="Error codes"><table>${Object.entries(errorTable).map(([code, { status, retryable }]) => html`<tr><td><a href="/docs/errors/${code}"><code>${code}</code></a></td><td>${status}</td><td>${retryable ? "the same request may succeed later" : ""}</td></tr>`)}</table></section>`;
  const head = { title: "Mintyard API", description: "What this server answers, over REST and GraphQL." };
  app.get("/", (c) => c.json({ title: "Mintyard", description: "NFT launch and data service", version: "0.2.0" }));
  app.get("/docs", async (c) => await sendDocument(c, pages, head, page));
  app.get("/docs/errors/:code", async (c) => {
    const code = c.req.param("code");
    if (!Object.hasOwn(errorTable, code)) throw new ServiceError("not_found", "there is no error of this code");
    const about = { title: `${code} – Mintyard API`, description: `What the error ${code} means and what to do.` };
    return await sendDocument(c, pages, about, errorPage(code as ErrorCode));
  });
  addStartPage(app, pages);
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
  return html`<h1><code>${code}</code></h1>
<p>Status ${status}. ${retryable ? "The same request may succeed later." : "The same request will fail again."}</p>
<h2>Why</h2>
<p>${withCode(cause)}</p>
<h2>What to do</h2>
<p>${withCode(fix)}</p>`;
}
