import type { Context } from "hono";

/** What a handler may have said of a success before it failed. */
const ofSuccess = [
  ...["ETag", "Last-Modified", "Accept-Ranges", "Content-Range", "Content-Length", "Content-Type"],
  ...["Content-Disposition", "Content-Encoding"],
];

/**
 * Takes back what was said of a success, so that no cache keeps an error as the content, and nobody waits for bytes
 * that do not come.
 */
export function setErrorHeaders(c: Context): void {
  for (const name of ofSuccess) c.header(name, undefined);
  c.header("Cache-Control", "no-store");
}
