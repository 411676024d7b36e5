import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type FileName, findFileNames } from "../../src/uploads/document-files.ts";
import {
  FileNames,
  findForeignPictures,
  isLeftOut,
  plainNames,
  type ShownPicture,
} from "../../src/uploads/folder-files.ts";
import { CommandError } from "../command-error.ts";
import { readText } from "./read-text.ts";

/** One token: its document and the files that the document names. Paths are relative to the folder. */
export interface Token {
  /** The contract's number, from 0. */
  tokenId: number;
  document: string;
  files: readonly string[];
}

export interface Artwork {
  /** The documents' folder. */
  metadata: string;
  tokens: readonly Token[];
  /** Files of the media folders, with their sizes in bytes. */
  media: ReadonlyMap<string, number>;
  /** Media that no document names. */
  unused: readonly string[];
  /** Files that do not belong to a collection. */
  leftOut: readonly string[];
  /** Number of the first document; the contract starts at 0. */
  firstNumber: number;
  /** Names in documents that match no file, and other faults that keep a document from being read. */
  faults: readonly string[];
  /** Things that can be intended but are usually a mistake. */
  doubts: readonly string[];
  /** The file that a name in a token's document refers to; null: no file, or more than one. */
  fileOf(token: Pick<Token, "document">, name: FileName): string | null;
}

/** Where tools put pictures and documents: our own layout, then HashLips', then Sugar's one folder for both. */
const layouts = [
  ["images", "metadata"],
  ["build/images", "build/json"],
  ["images", "json"],
  ["assets", "assets"],
] as const;
/** Further folders next to the pictures; their files are uploaded if a document names them. */
const mediaFolders = ["animations", "animation", "videos", "video", "audio", "models", "media", "assets", "gifs"];

/**
 * Finds tokens and their files in a folder. @throws CommandError for an unknown layout, or a document that is not JSON.
 */
export async function readFolder(folder: string): Promise<Artwork> {
  const [images, metadata] = await findLayout(folder);
  const together = images === metadata;
  const parent = dirname(images);
  const leftOut: string[] = [];
  const media = new Map<string, number>();
  const beside = await Promise.all(mediaFolders.map((name) => findPath(folder, join(parent, name))));
  const folders = [...new Set([images, ...beside.filter((path) => path !== null)])];
  for (const name of folders)
    for (const path of await filesBelow(folder, name, leftOut))
      if (!together || !isDocument(path)) media.set(path, (await stat(join(folder, path))).size);
  const relative = (path: string) => (parent === "." ? path : path.slice(parent.length + 1)).replaceAll("\\", "/");
  const paths = new Map([...media.keys()].map((path) => [relative(path), path]));
  const names = new FileNames(
    paths.keys(),
    folders.map((path) => basename(path)),
  );

  const documents = together
    ? (await filesBelow(folder, metadata, [])).filter(isDocument)
    : await filesBelow(folder, metadata, leftOut);
  const numbered = documents.map((path) => ({ path, number: numberOf(basename(path)) }));
  const wrong = numbered.filter(({ number, path }) => number === null || dirname(path) !== join(metadata));
  if (wrong.length > 0) {
    const shown = listed(wrong.map(({ path }) => path));
    throw new CommandError(`files whose names are no token numbers (want 0.json, 1.json, …): ${shown}`);
  }
  numbered.sort((a, b) => (a.number ?? 0) - (b.number ?? 0));
  const firstNumber = numbered[0]?.number ?? 0;
  const samePicture = (document: string) => names.pictures.get(numberOf(basename(document)) ?? 0) ?? [];
  const candidates = (document: string, { name, ...place }: FileName) =>
    name === null ? samePicture(document) : names.find({ name, ...place });
  const fileOf: Artwork["fileOf"] = ({ document }, name) => {
    const [only, ...others] = candidates(document, name);
    return others.length > 0 ? null : (paths.get(only ?? "") ?? null);
  };
  const faults: string[] = [];
  const tokens: Token[] = [];
  const shown: ShownPicture[] = [];
  for (const { path: document, number } of numbered) {
    const found = findFileNames(await readDocument(folder, document));
    faults.push(...found.faults.map((fault) => `${document}: ${fault}`));
    const files: string[] = [];
    const token: ShownPicture = { document, number: number ?? 0, picture: null };
    shown.push(token);
    for (const name of found.names) {
      const file = fileOf({ document }, name);
      if (file === null) {
        const several = candidates(document, name);
        faults.push(describeMissing(document, name, images, several, samePicture(document)));
        continue;
      }
      files.push(file);
      if (!/^image(_url)?$/.test(name.member)) continue;
      token.picture = relative(file);
      if (plainNames.test(file)) faults.push(`${document}: ${name.member} names ${file}, which is no picture`);
    }
    // Documents count from 1, as HashLips does, or from 0; the contract counts from 0.
    const tokenId = (number ?? 0) - (firstNumber === 1 ? 1 : 0);
    tokens.push({ tokenId, document, files: [...new Set(files)] });
  }
  const doubts: string[] = [];
  for (const { document, text, isFault } of findForeignPictures(shown, names.pictures))
    (isFault ? faults : doubts).push(`${document}: ${text}`);
  const used = new Set(tokens.flatMap(({ files }) => files));
  const unused = [...media.keys()].filter((path) => !used.has(path) && path.startsWith(join(images, "/")));
  return { metadata, tokens, media, unused, leftOut, firstNumber, faults, doubts, fileOf };
}

function describeMissing(
  document: string,
  { name, member }: FileName,
  images: string,
  several: readonly string[],
  sameNumber: readonly string[],
): string {
  const there = sameNumber.length > 0 ? ` (there is ${sameNumber.join(" and ")})` : "";
  if (name === null) return `no picture, or more than one, belongs to ${document}${there}`;
  const named = `${document}: ${member} names ${JSON.stringify(name.slice(0, 120))}`;
  return several.length > 1
    ? `${named}, which can be ${several.join(" and ")}: write it with its folder and extension`
    : `${named}, which is no link and no file of ${images}/${there}`;
}

/** The JSON text of one document, which is an object. */
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
  for (const [images, metadata] of layouts) {
    const found = [await findPath(folder, images), await findPath(folder, metadata)] as const;
    if (found[0] !== null && found[1] !== null) return [found[0], found[1]];
  }
  const wanted = layouts.map((names) => [...new Set(names)].map((name) => `${name}/`).join(" and ")).join(", or ");
  throw new CommandError(`${folder} has no artwork: it needs the folders ${wanted}`);
}

/** A folder's name as it is on disk: some systems accept `Images` for `images`. */
async function findPath(folder: string, path: string): Promise<string | null> {
  let found = "";
  for (const name of path.split("/").filter((segment) => segment !== ".")) {
    const there = await readdir(join(folder, found)).catch((): string[] => []);
    const called = there.includes(name) ? name : there.find((one) => one.toLowerCase() === name);
    if (called === undefined) return null;
    found = join(found, called);
  }
  return (await isFolder(join(folder, found))) ? found : null;
}

async function isFolder(path: string): Promise<boolean> {
  return await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/** Ends symbolic links that lead into themselves. */
const deepest = 8;

/** All files of a folder, following links; files that operating systems and generators create go to `leftOut`. */
async function filesBelow(folder: string, path: string, leftOut: string[], depth = 0): Promise<string[]> {
  if (depth > deepest || !(await isFolder(join(folder, path)))) return [];
  const files: string[] = [];
  for (const name of (await readdir(join(folder, path))).sort()) {
    const below = join(path, name);
    if (isLeftOut(name)) {
      leftOut.push(below);
      continue;
    }
    if (name.includes("\ufffd")) throw new CommandError(`the name of ${below} is not in UTF-8: rename that file`);
    const found = await stat(join(folder, below)).catch(() => null);
    if (!found) throw new CommandError(`${below} is a link to nothing: put the file there`);
    if (found.isDirectory()) files.push(...(await filesBelow(folder, below, leftOut, depth + 1)));
    else if (found.isFile()) files.push(below);
    else throw new CommandError(`${below} is no file`);
  }
  return files;
}

/** For a folder of both kinds, where pictures too are named by number only. */
function isDocument(path: string): boolean {
  return /\.json$/i.test(path);
}

function numberOf(name: string): number | null {
  const found = /^(\d{1,7})(?:\.json)?$/i.exec(name);
  return found ? Number(found[1]) : null;
}
