import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { html, raw } from "hono/html";
import { renderReference } from "../src/reference/page.ts";
import type { PageFiles } from "../src/server/web-manifest.ts";

/**
 * The API reference as one file that needs no server: `web/dist/reference.html`.
 *
 * @param assets the folder of built files. @param page the files of the documents' page.
 */
export async function buildReference(assets: string, page: PageFiles | undefined): Promise<string> {
  if (!page || page.preloads.length > 0) throw new Error("the script of the documents has to be one file");
  const read = (name: string) => readFile(join(assets, name), "utf8");
  const styles = (await Promise.all(page.styles.map(read))).join("\n");
  const script = await read(page.script);
  const { side, main } = renderReference({ chains: ["polygon", "ethereum"], served: false });
  return String(
    await html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8" />
<title>API reference – Mintyard</title>
<meta name="viewport" content="width=device-width, initial-scale=1" />
<meta name="color-scheme" content="light dark" />
<meta name="description" content="Every operation of REST and GraphQL, with examples." />
<style>${raw(styles)}</style>
</head>
<body>
<div class="document">${side}<main>${main}</main></div>
<script type="module">${raw(script)}</script>
</body>
</html>
`,
  );
}
