import type { Context, Hono, MiddlewareHandler } from "hono";
import { html, raw } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { ServiceError } from "../errors/errors.ts";
import type { AppEnv } from "../http/app-env.ts";
import { matchesEtag } from "../http/etag.ts";
import { StaticAnswers } from "./static-answers.ts";
import { type GuidePage, WebFiles } from "./web-manifest.ts";

const types: Record<string, string> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  png: "image/png",
};

/**
 * Pages run only this server's scripts and styles, connect only to this server, and cannot be framed, because nothing
 * may be drawn over a wallet's prompt. Browser extensions reach a page regardless of this policy.
 */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self'; " +
  "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const policyOf = (asks: readonly string[]) =>
  policy.replace("connect-src 'self'", ["connect-src 'self'", ...asks].join(" "));

const pageHeaders = {
  "Cache-Control": "no-cache",
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "strict-origin-when-cross-origin",
  "Cross-Origin-Opener-Policy": "same-origin-allow-popups",
  "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=()",
};

/** A page's description for browsers and for link previews. */
export interface PageHead {
  title: string;
  description: string;
  /** An absolute URL. */
  image?: string | null;
  url?: string;
  /** Origins besides this server's that its script contacts. */
  asks?: readonly string[];
}

/** The built pages, their files, and the frame around each page. */
export class WebPages {
  readonly #files = new WebFiles();
  readonly #answers = new StaticAnswers();

  /**
   * Caches pages and documents until the next build.
   *
   * @param nameOf maps a path to a cache name; paths with the same name have the same answer. Null: do not cache.
   */
  keep(nameOf: (path: string) => string | null): MiddlewareHandler<AppEnv> {
    return this.#answers.before(async (c) => {
      const name = nameOf(c.req.path.replace(/\/+$/, ""));
      return name === null ? null : `${await this.#files.builtAt()} ${name}`;
    });
  }

  /** `/assets/{name}`: names contain a hash of the content, so answers may be cached forever. */
  addAssets(app: Hono<AppEnv>): void {
    app.get("/assets/:file", async (c) => {
      const name = c.req.param("file");
      const kept = {
        ETag: `W/"${name}"`,
        "Cache-Control": "public, max-age=31536000, immutable",
        Vary: "Accept-Encoding",
      };
      const accepted = c.req.header("Accept-Encoding") ?? "";
      const encoding = /\bbr\b/.test(accepted) ? "br" : /\bgzip\b/.test(accepted) ? "gz" : null;
      const bytes = await this.#files.read(name, encoding);
      if (matchesEtag(c.req.header("If-None-Match"), kept.ETag)) return c.body(null, 304, kept);
      return c.body(bytes, 200, {
        ...kept,
        "Content-Type": types[name.split(".").at(-1) ?? ""] ?? "application/octet-stream",
        "Content-Length": String(bytes.length),
        "X-Content-Type-Options": "nosniff",
        ...(encoding === null ? {} : { "Content-Encoding": encoding === "gz" ? "gzip" : "br" }),
      });
    });
  }

  async guides(): Promise<GuidePage[]> {
    return await this.#files.guides();
  }

  /**
   * @param name of the page in `bin/build-web.ts`.
   * @param body absent: the page's script renders it.
   * @param status of the answer: the page itself can explain an error.
   * @throws ServiceError `service_unavailable` until the pages are built.
   */
  async page(
    c: Context<AppEnv>,
    name: string,
    { title, description, image, url, asks = [] }: PageHead,
    body: HtmlEscapedString | Promise<HtmlEscapedString> = raw("<noscript>This page needs JavaScript.</noscript>"),
    status: ContentfulStatusCode = 200,
  ): Promise<Response> {
    const { pages, files } = await this.#files.manifest();
    const icon = files.find((file) => /^logo-[\w-]+\.svg$/.test(file));
    const { script, preloads, styles } = pages[name] ?? { script: "", preloads: [], styles: [] };
    return await c.html(
      html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8" />
<title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1" />
<meta name="color-scheme" content="light dark" />
<meta name="description" content="${description}" />
<meta property="og:title" content="${title}" />
<meta property="og:description" content="${description}" />
<meta property="og:type" content="website" />
${url ? html`<meta property="og:url" content="${url}" />` : raw("")}
${image ? html`<meta property="og:image" content="${image}" /><meta name="twitter:card" content="summary_large_image" />` : raw("")}
<link rel="icon" href="${icon ? `/assets/${icon}` : "data:,"}" />
${styles.map((file) => html`<link rel="stylesheet" href="/assets/${file}" />`)}
${preloads.map((file) => html`<link rel="modulepreload" href="/assets/${file}" />`)}
<script type="module" src="/assets/${script}"></script>
</head>
<body>
<div id="page">${body}</div>
</body>
</html>`,
      status,
      { ...pageHeaders, "Content-Security-Policy": policyOf(asks) },
    );
  }

  /** A document in the look of the pages; without their files, which an API process may lack, the same text plainly. */
  async document(
    c: Context<AppEnv>,
    head: PageHead,
    body: unknown,
    side: unknown = "",
    status: ContentfulStatusCode = 200,
  ): Promise<Response> {
    try {
      return await this.page(c, "docs", head, documentFrame(body, side), status);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== "service_unavailable") throw error;
      const plain = html`<!doctype html>
<html lang="en">
<meta charset="utf-8" />
<title>${head.title}</title>
${body}
</html>`;
      return await c.html(plain, status, { ...pageHeaders, "Content-Security-Policy": policy });
    }
  }
}

/**
 * The frame of every document: links to the others, and a search over the guides.
 *
 * @param side content of the sidebar.
 */
export function documentFrame(body: unknown, side: unknown = "") {
  return html`<header class="top">
<a class="brand" href="/docs/guide">Mintyard</a>
<nav aria-label="Documents"><a href="/docs">API reference</a><a href="/docs/start">Quick start</a><a href="/docs/guide">All guides</a><a href="/console">Console</a></nav>
<div class="find"><label for="search">Search the guides</label><input id="search" type="search" autocomplete="off" /></div>
</header>
<ul id="found" class="card" aria-live="polite"></ul>
<div class="document">${side}<main>${body}</main></div>`;
}
