import type { Context } from "hono";

/** Headers of a success that a handler may have set before it failed. */
const ofSuccess = [
  ...["ETag", "Last-Modified", "Accept-Ranges", "Content-Range", "Content-Length", "Content-Type"],
  ...["Content-Disposition", "Content-Encoding"],
];

/**
 * Removes the headers of a success, so that no cache keeps an error as the content, and no client waits for bytes
 * that do not come.
 */
export function setErrorHeaders(c: Context): void {
  for (const name of ofSuccess) c.header(name, undefined);
  c.header("Cache-Control", "no-store");
}
