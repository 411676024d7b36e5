// Builds the pages of web/ into web/dist, where the API looks for them. Does nothing when they are up to date.
//   node bin/build-web.ts
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { collectionCalls } from "../src/reference/collection-calls.ts";
import type { PageFiles, WebManifest } from "../src/server/web-manifest.ts";
import { buildGuides, guideSources } from "./build-guides.ts";
import { buildReference } from "./build-reference.ts";

const root = join(import.meta.dirname, "..");
const web = join(root, "web");
const dist = join(web, "dist");
const docs = join(root, "docs");
const entries = { mint: "mint/main.tsx", console: "console/main.tsx", docs: "docs/main.ts" };

/** All files that the pages depend on, including those that define the build. */
async function sources(): Promise<string[]> {
  // Without dist: another process may be building there, and removes its folder when it is done.
  const tops = (await readdir(web, { withFileTypes: true })).filter((entry) => entry.name !== "dist");
  const below = tops.filter((entry) => entry.isDirectory()).map((entry) => join(web, entry.name));
  const nested = await Promise.all(below.map((path) => readdir(path, { recursive: true, withFileTypes: true })));
  const own = [...tops, ...nested.flat()]
    .filter((file) => file.isFile())
    .map((file) => join(file.parentPath, file.name));
  const guides = (await guideSources(docs)).map(({ path }) => path);
  const pictures = (await readdir(join(docs, "pictures"))).map((name) => join(docs, "pictures", name));
  const uploads = ["document-files.ts", "folder-files.ts", "whole-file.ts"].map((name) => `src/uploads/${name}`);
  const shared = [...uploads, "src/ipfs/motion.ts"];
  const builders = ["build-web.ts", "build-guides.ts", "build-reference.ts"].map((name) => `bin/${name}`);
  const schemas = ["schema/openapi.json", "schema/schema.graphql", "src/errors/errors.ts", "src/errors/error-guide.ts"];
  const others = ["package-lock.json", ...builders, ...shared, ...schemas].map((path) => join(root, path));
  const modules = (await readdir(join(root, "client/src"))).filter((name) => name.endsWith(".ts"));
  const client = modules.map((name) => join(root, "client/src", name));
  const examples = await readdir(join(root, "src/reference"), { recursive: true, withFileTypes: true });
  const reference = examples.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name));
  return [...own.sort(), ...guides.sort(), ...pictures.sort(), ...reference.sort(), ...client.sort(), ...others];
}

/** Depends only on the sources, so it is the same on every machine. */
async function stampOfSources(): Promise<string> {
  const hash = createHash("sha256");
  for (const path of await sources()) hash.update(`${relative(root, path)}\0`).update(await readFile(path));
  return hash.digest("hex");
}

async function builtStamp(): Promise<string | null> {
  const text = await readFile(join(dist, "manifest.json"), "utf8").catch(() => null);
  return text === null ? null : (JSON.parse(text) as WebManifest).stamp;
}

/** A module with the calls that the console shows, so that the schemas behind them stay out of the console's bundle. */
const calls = {
  name: "collection-calls",
  resolveId: (id: string) => (id === "virtual:collection-calls" ? `\0${id}` : null),
  load: (id: string) =>
    id === "\0virtual:collection-calls" ? `export default ${JSON.stringify(collectionCalls())}` : null,
};

/** Both pages run on one library: the console's libraries get Preact when they import React. */
const preactAsReact = {
  "react-dom/client": "preact/compat/client",
  "react-dom": "preact/compat",
  "react/jsx-runtime": "preact/jsx-runtime",
  react: "preact/compat",
};

interface ViteEntry {
  file: string;
  css?: string[];
  imports?: string[];
}

/** Several processes may build at once: file names have hashes of the content, and the list of files comes last. */
async function buildWeb(): Promise<"built" | "kept"> {
  const stamp = await stampOfSources();
  if ((await builtStamp()) === stamp) return "kept";
  // The libraries have other code for development, and the caller's environment may ask for that.
  process.env["NODE_ENV"] = "production";
  const { build } = await import("vite");
  await mkdir(join(dist, "assets"), { recursive: true });
  const out = await mkdtemp(join(dist, "build-"));
  try {
    const result = await build({
      root: web,
      configFile: false,
      base: "/",
      logLevel: "error",
      plugins: [calls],
      resolve: { alias: preactAsReact },
      define: { "process.env.NODE_ENV": '"production"' },
      build: {
        outDir: out,
        manifest: "vite.json",
        modulePreload: { polyfill: false },
        assetsInlineLimit: 0,
        reportCompressedSize: false,
        rolldownOptions: {
          input: Object.fromEntries(Object.entries(entries).map(([name, file]) => [name, join(web, file)])),
        },
      },
    });
    if (!result) throw new Error("the build made nothing");
    const made = JSON.parse(await readFile(join(out, "vite.json"), "utf8")) as Record<string, ViteEntry>;
    const { guides, pictures } = await buildGuides(docs);
    for (const { asset, bytes } of pictures) await writeFile(join(out, "assets", asset), bytes);
    const names = await readdir(join(out, "assets"));
    for (const name of names) await keep(out, name);
    const pages = Object.fromEntries(Object.entries(entries).map(([name, file]) => [name, filesOf(made, file)]));
    await writeFile(join(out, "reference.html"), await buildReference(join(out, "assets"), pages["docs"]));
    await rename(join(out, "reference.html"), join(dist, "reference.html"));
    await writeFile(join(out, "guides.json"), JSON.stringify(guides));
    await rename(join(out, "guides.json"), join(dist, "guides.json"));
    const manifest: WebManifest = { stamp, pages, files: names.sort() };
    await writeFile(join(out, "manifest.json"), JSON.stringify(manifest));
    await rename(join(out, "manifest.json"), join(dist, "manifest.json"));
    await removeOthers(names);
  } finally {
    await rm(out, { recursive: true, force: true });
  }
  return "built";
}

/** Compressed here, once and as small as possible, instead of for each visitor. */
async function keep(out: string, name: string): Promise<void> {
  const bytes = await readFile(join(out, "assets", name));
  const best = { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } };
  const copies = {
    [`${name}.br`]: await promisify(brotliCompress)(bytes, best),
    [`${name}.gz`]: await promisify(gzip)(bytes, { level: 9 }),
    [name]: bytes,
  };
  for (const [file, content] of Object.entries(copies)) {
    await writeFile(join(out, file), content);
    await rename(join(out, file), join(dist, "assets", file));
  }
}

/** The files that a page loads before it starts, without those that it may load later. */
function filesOf(made: Record<string, ViteEntry>, file: string): PageFiles {
  const seen = new Set<string>();
  const visit = (key: string): void => {
    if (seen.has(key)) return;
    seen.add(key);
    for (const next of made[key]?.imports ?? []) visit(next);
  };
  visit(file);
  const own = [...seen].flatMap((key) => (made[key] ? [made[key]] : []));
  const base = (path: string) => path.replace("assets/", "");
  const [main, ...shared] = own.map((entry) => base(entry.file));
  if (!main) throw new Error(`nothing was built of ${file}`);
  // A page's own styles come after the shared ones and so override them.
  const styles = [...new Set(own.toReversed().flatMap(({ css }) => css ?? []))].map(base);
  return { script: main, preloads: shared, styles };
}

async function removeOthers(names: readonly string[]): Promise<void> {
  const wanted = new Set(names.flatMap((name) => [name, `${name}.br`, `${name}.gz`]));
  for (const file of await readdir(join(dist, "assets")))
    if (!wanted.has(file)) await rm(join(dist, "assets", file), { force: true });
}

process.stdout.write(`web pages: ${await buildWeb()}\n`);
