import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Hono } from "hono";
import { html } from "hono/html";
import { ServiceError } from "../errors/errors.ts";
import type { AppEnv } from "../http/app-env.ts";

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
export function addExplorer(app: Hono<AppEnv>): void {
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
