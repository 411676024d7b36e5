import { readdir, readFile, stat } from "node:fs/promises";
import { basename, extname, join } from "node:path";
import { CommandError } from "../command-error.ts";

/** One token: its document and the picture that belongs to it. Paths are below the folder. */
export interface Token {
  /** As the contract numbers them, from 0. */
  tokenId: number;
  document: string;
  image: string | null;
}

export interface Artwork {
  tokens: readonly Token[];
  /** Files of the image folder, with their sizes in bytes. */
  images: ReadonlyMap<string, number>;
  /** Pictures that no document names. */
  unused: readonly string[];
  /** Number of the first document; the contract starts at 0. */
  firstNumber: number;
}

/** Where tools put pictures and documents: our own layout first, then HashLips'. */
const layouts = [
  ["images", "metadata"],
  ["build/images", "build/json"],
  ["images", "json"],
] as const;
/** HashLips writes all documents into one more file. */
const collectionFile = /^_?metadata\.json$/i;

/** Finds tokens and pictures in a folder. @throws CommandError when it has neither layout, or a document is no JSON. */
export async function readFolder(folder: string): Promise<Artwork> {
  const [images, metadata] = await findLayout(folder);
  const imageNames = await visibleFiles(join(folder, images));
  const sizes = new Map<string, number>();
  for (const name of imageNames) sizes.set(join(images, name), (await stat(join(folder, images, name))).size);
  const byStem = new Map(imageNames.map((name) => [stemOf(name), join(images, name)]));
  const documents = (await visibleFiles(join(folder, metadata))).filter((name) => !collectionFile.test(name));
  const numbered = documents.map((name) => ({ name, number: numberOf(name) }));
  const wrong = numbered.filter(({ number }) => number === null).map(({ name }) => join(metadata, name));
  if (wrong.length > 0)
    throw new CommandError(`files whose names are no token numbers (want 0.json, 1.json, …): ${listed(wrong)}`);
  numbered.sort((a, b) => (a.number ?? 0) - (b.number ?? 0));
  const firstNumber = numbered[0]?.number ?? 0;
  const tokens: Token[] = [];
  for (const { name, number } of numbered) {
    const document = join(metadata, name);
    const { image } = await readDocument(folder, document);
    const named = typeof image === "string" ? imageName(image) : null;
    const found = (named === null ? undefined : byStem.get(stemOf(named))) ?? byStem.get(String(number));
    const isLink = typeof image === "string" && /^(https?|ar|data):|^ipfs:\/\/(bafy|bafk|Qm)/.test(image);
    // From 1 as HashLips counts, or from 0: the contract counts from 0.
    tokens.push({
      tokenId: (number ?? 0) - (firstNumber === 1 ? 1 : 0),
      document,
      image: isLink ? null : (found ?? null),
    });
  }
  const used = new Set(tokens.map(({ image }) => image));
  return { tokens, images: sizes, unused: [...sizes.keys()].filter((path) => !used.has(path)), firstNumber };
}

/** The JSON object of one document. */
export async function readDocument(folder: string, path: string): Promise<Record<string, unknown>> {
  const text = await readFile(join(folder, path), "utf8");
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
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

async function visibleFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && !entry.name.startsWith(".") && entry.name !== "Thumbs.db")
    .map(({ name }) => name)
    .sort();
}

const stemOf = (name: string) => basename(name, extname(name));

function numberOf(name: string): number | null {
  const found = /^(\d{1,7})(?:\.json)?$/.exec(name);
  return found ? Number(found[1]) : null;
}

/** The file of a placeholder link: `ipfs://NewUriToReplace/3.png`, `images/3.png`, `3.png`. */
function imageName(link: string): string {
  return basename(link.split(/[?#]/)[0] ?? "");
}
