import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type FileName, FileNames, findFileNames, isLeftOut } from "../../src/uploads/document-files.ts";
import { CommandError } from "../command-error.ts";
import { readText } from "./read-text.ts";

/** One token: its document and the files that it names. Paths are below the folder. */
export interface Token {
  /** As the contract numbers them, from 0. */
  tokenId: number;
  document: string;
  files: readonly string[];
}

export interface Artwork {
  tokens: readonly Token[];
  /** Files of the folders of media, with their sizes in bytes. */
  media: ReadonlyMap<string, number>;
  /** Media that no document names. */
  unused: readonly string[];
  /** Files that are no part of a collection. */
  leftOut: readonly string[];
  /** Number of the first document; the contract starts at 0. */
  firstNumber: number;
  /** Names in documents that mean no file, and what else keeps a document from being read. */
  faults: readonly string[];
  /** The file that a name in a token's document means; null: none, or none for certain. */
  fileOf(token: Pick<Token, "document">, name: FileName): string | null;
}

/** Where tools put pictures and documents: our own layout first, then HashLips'. */
const layouts = [
  ["images", "metadata"],
  ["build/images", "build/json"],
  ["images", "json"],
] as const;
/** Beside the pictures; what is in them is uploaded when a document names it. */
const mediaFolders = ["animations", "animation", "videos", "video", "audio", "models", "media", "assets", "gifs"];

/** Finds tokens and their files in a folder. @throws CommandError when it has neither layout, or a document is no JSON. */
export async function readFolder(folder: string): Promise<Artwork> {
  const [images, metadata] = await findLayout(folder);
  const parent = dirname(images);
  const leftOut: string[] = [];
  const media = new Map<string, number>();
  for (const name of [basename(images), ...mediaFolders])
    for (const path of await filesBelow(folder, join(parent, name), leftOut))
      media.set(path, (await stat(join(folder, path))).size);
  const relative = (path: string) => (parent === "." ? path : path.slice(parent.length + 1)).replaceAll("\\", "/");
  const paths = new Map([...media.keys()].map((path) => [relative(path), path]));
  const names = new FileNames(paths.keys(), [basename(images), ...mediaFolders]);

  const documents = await filesBelow(folder, metadata, leftOut);
  const numbered = documents.map((path) => ({ path, number: numberOf(basename(path)) }));
  const wrong = numbered.filter(({ number, path }) => number === null || dirname(path) !== join(metadata));
  if (wrong.length > 0) {
    const shown = listed(wrong.map(({ path }) => path));
    throw new CommandError(`files whose names are no token numbers (want 0.json, 1.json, …): ${shown}`);
  }
  numbered.sort((a, b) => (a.number ?? 0) - (b.number ?? 0));
  const firstNumber = numbered[0]?.number ?? 0;
  const fileOf: Artwork["fileOf"] = ({ document }, { name }) => {
    if (name !== null) return paths.get(names.find(name) ?? "") ?? null;
    const [only, ...others] = names.numbered(numberOf(basename(document)) ?? 0);
    return others.length > 0 ? null : (paths.get(only ?? "") ?? null);
  };
  const faults: string[] = [];
  const tokens: Token[] = [];
  for (const { path: document, number } of numbered) {
    const found = findFileNames(await readDocument(folder, document));
    faults.push(...found.faults.map((fault) => `${document}: ${fault}`));
    const files: string[] = [];
    for (const name of found.names) {
      const file = fileOf({ document }, name);
      if (file !== null) files.push(file);
      else faults.push(describeMissing(document, name, images, names.numbered(number ?? 0)));
    }
    // From 1 as HashLips counts, or from 0: the contract counts from 0.
    tokens.push({ tokenId: (number ?? 0) - (firstNumber === 1 ? 1 : 0), document, files: [...new Set(files)] });
  }
  const used = new Set(tokens.flatMap(({ files }) => files));
  const unused = [...media.keys()].filter((path) => !used.has(path) && path.startsWith(join(images, "/")));
  return { tokens, media, unused, leftOut, firstNumber, faults, fileOf };
}

function describeMissing(document: string, { name, member }: FileName, images: string, sameNumber: string[]): string {
  const there = sameNumber.length > 0 ? ` (there is ${sameNumber.join(" and ")})` : "";
  return name === null
    ? `no picture, or more than one, belongs to ${document}${there}`
    : `${document}: ${member} names ${JSON.stringify(name.slice(0, 120))}, which is no link and no file of ${images}/${there}`;
}

/** The JSON text of one document, an object. */
export async function readDocument(folder: string, path: string): Promise<string> {
  const text = await readText(folder, path);
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return text;
  } catch {}
  throw new CommandError(`${path} is no JSON object: correct it, nothing was uploaded`);
}

/** The first names of a list, and how many more there are. */
export function listed(names: readonly string[], most = 10): string {
  const further = names.length - most;
  return `${names.slice(0, most).join(", ")}${further > 0 ? ` and ${further} more` : ""}`;
}

async function findLayout(folder: string): Promise<readonly [string, string]> {
  for (const layout of layouts)
    if ((await Promise.all(layout.map((name) => isFolder(join(folder, name))))).every(Boolean)) return layout;
  const wanted = layouts.map(([images, metadata]) => `${images}/ and ${metadata}/`).join(", or ");
  throw new CommandError(`${folder} has no artwork: it needs the folders ${wanted}`);
}

async function isFolder(path: string): Promise<boolean> {
  return await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/** A link that leads into itself ends here. */
const deepest = 8;

/** Every file of a folder, links followed; `leftOut` gets what operating systems and generators put there. */
async function filesBelow(folder: string, path: string, leftOut: string[], depth = 0): Promise<string[]> {
  if (depth > deepest || !(await isFolder(join(folder, path)))) return [];
  const files: string[] = [];
  for (const name of (await readdir(join(folder, path))).sort()) {
    const below = join(path, name);
    if (isLeftOut(name)) {
      leftOut.push(below);
      continue;
    }
    const found = await stat(join(folder, below)).catch(() => null);
    if (!found) throw new CommandError(`${below} is a link to nothing: put the file there`);
    if (found.isDirectory()) files.push(...(await filesBelow(folder, below, leftOut, depth + 1)));
    else if (found.isFile()) files.push(below);
    else throw new CommandError(`${below} is no file`);
  }
  return files;
}

function numberOf(name: string): number | null {
  const found = /^(\d{1,7})(?:\.json)?$/i.exec(name);
  return found ? Number(found[1]) : null;
}
