import type { Hono } from "hono";
import { html, raw } from "hono/html";
import { ServiceError } from "../errors/errors.ts";
import type { AppEnv } from "../http/app-env.ts";
import { documentFrame } from "./document-frame.ts";
import type { WebPages } from "./web-pages.ts";

/** `/docs/guide`: the documents of this version, in the look of the pages, with a search over their sections. */
export function addGuides(app: Hono<AppEnv>, pages: WebPages): void {
  app.get("/docs/guide", async (c) => {
    const guides = await pages.guides();
    const list = guides.map(({ name, title }) => html`<li><a href="/docs/guide/${name}">${title}</a></li>`);
    const body = documentFrame(html`<h1>Guides</h1><ul>${list}</ul>`);
    return await pages.page(
      c,
      "docs",
      { title: "Guides – Mintyard", description: "How to use and run Mintyard." },
      body,
    );
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
    return await pages.page(c, "docs", head, documentFrame(raw(guide.html)));
  });
}
