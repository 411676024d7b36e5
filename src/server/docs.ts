import type { Context, Hono } from "hono";
import { html, raw } from "hono/html";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { fixFor, guideOf } from "../errors/error-guide.ts";
import { type ErrorCode, errorTable, ServiceError } from "../errors/errors.ts";
import type { AppEnv } from "../http/app-env.ts";
import { withCode } from "../reference/markup.ts";
import { renderReference } from "../reference/page.ts";
import { createOpenApi } from "../rest/openapi.ts";
import { addStartPage } from "./start-page.ts";
import type { GuidePage } from "./web-manifest.ts";
import { documentFrame, type WebPages } from "./web-pages.ts";

/** `/docs`: the reference of both APIs; `/docs/openapi.json`: the OpenAPI document. */
export function addDocs(app: Hono<AppEnv>, pages: WebPages, chains: readonly string[]): void {
  app.get("/", (c) => {
    c.header("Vary", "Accept", { append: true });
    if (c.req.header("accept")?.includes("text/html")) return c.redirect("/console");
    return c.json({ title: "Mintyard", description: "NFT launch and data service", version: "0.2.0" });
  });
  app.get("/docs", async (c) => {
    const { side, main } = renderReference({ chains, served: true });
    const head = {
      title: "API reference – Mintyard",
      description: "Every operation of REST and GraphQL, with examples.",
    };
    return await pages.document(c, head, main, side);
  });
  // The former address of the REST reference. Browsers keep the fragment when they follow the redirect.
  app.get("/docs/rest", (c) => c.redirect("/docs", 301));
  app.get("/docs/errors/:code", async (c) => {
    const code = c.req.param("code");
    if (!Object.hasOwn(errorTable, code))
      throw new ServiceError("not_found", `there is no error "${code.slice(0, 40)}"`);
    const about = { title: `${code} – Mintyard API`, description: `What the error ${code} means and what to do.` };
    return await pages.document(c, about, errorPage(code as ErrorCode));
  });
  addStartPage(app, pages);
  addGuides(app, pages);
  const openApi = createOpenApi();
  app.get("/docs/openapi.json", (c) => c.json(openApi));
}

/** The page that an error's `docs` member links to. */
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

/** A page for an error outside the APIs. */
export async function answerInBrowser(c: Context<AppEnv>, pages: WebPages, error: ServiceError): Promise<Response> {
  const { status, message } = error;
  const title = status === 404 ? "There is no such page" : "This page cannot be shown";
  const body = html`<h1>${title}</h1>
<p>${message.charAt(0).toUpperCase()}${message.slice(1)}.</p>
<p>${status === 404 ? "Check the link, or go on here:" : withCode(fixFor(error))}</p>
<ul><li><a href="/console">Console</a></li><li><a href="/docs/start">Quick start</a></li><li><a href="/docs/guide">All guides</a></li><li><a href="/docs">API reference</a></li></ul>
<p>Request <code>${c.get("requestId")}</code>, status ${status}</p>`;
  // The title only: text from a link must not become this site's description.
  const answer = await pages.document(
    c,
    { title: `${title} – Mintyard`, description: title },
    body,
    "",
    status as ContentfulStatusCode,
  );
  answer.headers.set("Cache-Control", "no-store");
  return answer;
}

/** `/docs/guide`: the documents of this version, in the look of the pages, with a search over their sections. */
function addGuides(app: Hono<AppEnv>, pages: WebPages): void {
  app.get("/docs/guide", async (c) => {
    const guides = await pages.guides();
    const list = guides
      .filter(({ isRunbook }) => !isRunbook)
      .map(({ name, title }) => html`<li><a href="/docs/guide/${name}">${title}</a></li>`);
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
    if (!guide) throw new ServiceError("not_found", `there is no guide "${c.req.param("name").slice(0, 40)}"`);
    const head = { title: `${guide.title} – Mintyard`, description: guide.title };
    return await pages.page(c, "docs", head, documentFrame(raw(guide.html), sideOf(guides, guide)));
  });
}

/** The sidebar: all guides, and the sections of the current one. Of the runbooks only the current one is listed. */
function sideOf(guides: readonly GuidePage[], shown: GuidePage) {
  const sections = shown.sections.map(({ anchor, title }) => html`<li><a href="#${anchor}">${title}</a></li>`);
  const listed = guides.filter((guide) => !guide.isRunbook || guide.name === shown.name);
  const list = listed.map(({ name, title }) =>
    name === shown.name
      ? html`<li><a href="/docs/guide/${name}" aria-current="page">${title}</a><ul>${sections}</ul></li>`
      : html`<li><a href="/docs/guide/${name}">${title}</a></li>`,
  );
  return html`<details class="side" open><summary>Guides</summary><nav aria-label="Guides"><ul>${list}</ul></nav></details>`;
}
