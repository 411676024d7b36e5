import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Hono } from "hono";
import { html, raw } from "hono/html";
import { guideOf } from "../errors/error-guide.ts";
import { type ErrorCode, errorTable, ServiceError } from "../errors/errors.ts";
import type { AppEnv } from "../http/app-env.ts";
import { createOpenApi } from "../rest/openapi.ts";
import { addStartPage } from "./start-page.ts";
import type { GuidePage } from "./web-manifest.ts";
import { documentFrame, type WebPages } from "./web-pages.ts";

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
  app.get("/docs", async (c) => await pages.document(c, head, page));
  app.get("/docs/errors/:code", async (c) => {
    const code = c.req.param("code");
    if (!Object.hasOwn(errorTable, code)) throw new ServiceError("not_found", "there is no error of this code");
    const about = { title: `${code} – Mintyard API`, description: `What the error ${code} means and what to do.` };
    return await pages.document(c, about, errorPage(code as ErrorCode));
  });
  addStartPage(app, pages);
  addGuides(app, pages);
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

/** `/docs/guide`: the documents of this version, in the look of the pages, with a search over their sections. */
function addGuides(app: Hono<AppEnv>, pages: WebPages): void {
  app.get("/docs/guide", async (c) => {
    const guides = await pages.guides();
    const list = guides.map(({ name, title }) => html`<li><a href="/docs/guide/${name}">${title}</a></li>`);
    const body = documentFrame(html`<h1>Guides</h1><ul class="columns">${list}</ul>`);
    const head = { title: "Guides – Mintyard", description: "How to use and run Mintyard." };
    return await pages.page(c, "docs", head, body);
  });
  app.get("/docs/guide/search.json", async (c) => {
    const guides = await pages.guides();
    const sections = guides.flatMap(({ name, title, sections: own }) =>
      own.map((section) => ({ page: name, pageTitle: title, ...section })),
    );
    return c.json(sections, 200, { "Cache-Control": "no-cache" });
  });
  app.get("/docs/guide/:name", async (c) => {
    const guides = await pages.guides();
    const guide = guides.find(({ name }) => name === c.req.param("name"));
    if (!guide) throw new ServiceError("not_found", "there is no guide of this name");
    const head = { title: `${guide.title} – Mintyard`, description: guide.title };
    return await pages.page(c, "docs", head, documentFrame(raw(guide.html), sideOf(guides, guide)));
  });
}

/** Where a reader is: all guides, and below this one its sections. */
function sideOf(guides: readonly GuidePage[], shown: GuidePage) {
  const sections = shown.sections.map(({ anchor, title }) => html`<li><a href="#${anchor}">${title}</a></li>`);
  const list = guides.map(({ name, title }) =>
    name === shown.name
      ? html`<li><a href="/docs/guide/${name}" aria-current="page">${title}</a><ul>${sections}</ul></li>`
      : html`<li><a href="/docs/guide/${name}">${title}</a></li>`,
  );
  return html`<details class="side" open><summary>Guides</summary><nav aria-label="Guides"><ul>${list}</ul></nav></details>`;
}

/** What is served of the package; everything a page needs comes from here, nothing from elsewhere. */
const assets: Record<string, string> = {
  "swagger-ui.css": "text/css; charset=utf-8",
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
  "favicon-32x32.png": "image/png",
};
/** Swagger UI styles elements in place and draws its icons from data URLs; it runs no code but its files'. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const start = `SwaggerUIBundle({ url: "/docs/openapi.json", dom_id: "#explorer", deepLinking: true, validatorUrl: null });\n`;

/** `/docs/rest`: the OpenAPI document as pages to try it on, offline. */
function addExplorer(app: Hono<AppEnv>): void {
  const folder = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
  app.get("/docs/rest", (c) =>
    c.html(
      html`<!doctype html>
<html lang="en">
<meta charset="utf-8" />
<title>Mintyard REST API</title>
<link rel="stylesheet" href="/docs/rest/swagger-ui.css" />
<link rel="icon" href="/docs/rest/favicon-32x32.png" />
<div id="explorer"></div>
<script src="/docs/rest/swagger-ui-bundle.js"></script>
<script src="/docs/rest/start.js"></script>
</html>`,
      200,
      { "Content-Security-Policy": policy },
    ),
  );
  app.get("/docs/rest/start.js", (c) => c.text(start, 200, { "Content-Type": "text/javascript; charset=utf-8" }));
  app.get("/docs/rest/:asset", async (c) => {
    const name = c.req.param("asset");
    const type = Object.hasOwn(assets, name) ? assets[name] : undefined;
    if (!type) throw new ServiceError("not_found", "the explorer has no such file");
    const bytes = await readFile(join(folder, name));
    return c.body(new Uint8Array(bytes), 200, { "Content-Type": type, "Cache-Control": "public, max-age=86400" });
  });
}
