import {
  type FileName,
  findFileNames,
  linkFiles,
  linkOf,
  mediaNames,
  pictureNames,
} from "../../../src/uploads/document-files.ts";
import { FileNames, findForeignPictures, isLeftOut, type ShownPicture } from "../../../src/uploads/folder-files.ts";
import { describeFault, findBrokenData, findFileFault } from "../../../src/uploads/whole-file.ts";

/** One token of the folder: its document, if the folder has documents, and its files. */
export interface FolderToken {
  id: number;
  document: string | null;
  /** Each name in the document, with its file; without a document only the picture with the token's number. */
  files: { name: FileName | null; file: File }[];
}

interface FolderProblem {
  file: string;
  /** What is wrong, and what to change. */
  text: string;
}

export interface Folder {
  tokens: FolderToken[];
  /** The files of all tokens, each once. */
  files: File[];
  bytes: number;
  problems: FolderProblem[];
  /** Files that belong to no token. */
  leftOut: string[];
}

interface Found {
  path: string;
  file: File;
}

/** Every file that was dropped, including those in folders. */
export async function filesOfDrop(items: DataTransferItemList): Promise<Found[]> {
  const entries = [...items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  const found: Found[] = [];
  const visit = async (entry: FileSystemEntry): Promise<void> => {
    if (entry.isFile) {
      const file = await new Promise<File>((done, failed) => (entry as FileSystemFileEntry).file(done, failed));
      found.push({ path: entry.fullPath.replace(/^\//, ""), file });
      return;
    }
    const reader = (entry as FileSystemDirectoryEntry).createReader();
    // It returns a hundred at a time.
    for (;;) {
      const some = await new Promise<FileSystemEntry[]>((done, failed) => reader.readEntries(done, failed));
      if (some.length === 0) return;
      for (const one of some) await visit(one);
    }
  };
  for (const entry of entries) await visit(entry);
  return found;
}

export function filesOfInput(list: FileList): Found[] {
  return [...list].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
}

/**
 * Reads a folder as generators write it: pictures, and JSON files that are named by number and name the pictures;
 * without any JSON, pictures that are named by number. Of a picture, only the bytes are read that show whether it is
 * complete.
 *
 * @param mostBytes of one file.
 */
export async function readFolder(files: readonly Found[], mostBytes: number): Promise<Folder> {
  const problems: FolderProblem[] = [];
  const leftOut: string[] = [];
  const shown = new Map<string, Found>();
  const images = new Map<number, Found[]>();
  const documents = new Map<number, Found>();
  for (const found of files) {
    const parts = found.path.split("/");
    const base = parts.at(-1) ?? "";
    const number = /^(\d+)(\.|$)/.exec(base)?.[1];
    if (parts.some(isLeftOut) || base === "launch.json") leftOut.push(found.path);
    else if (pictureNames.test(base) || mediaNames.test(base)) {
      shown.set(found.path, found);
      const same = images.get(Number(number)) ?? [];
      if (number !== undefined && pictureNames.test(base)) images.set(Number(number), [...same, found]);
    } else if (!/\.json$/i.test(base) && !/^\d+$/.test(base))
      problems.push({ file: found.path, text: "is neither a picture nor JSON; take it out of the folder" });
    else if (number === undefined)
      problems.push({ file: found.path, text: "is not named by a token's number, such as 0.json" });
    else if (documents.has(Number(number)))
      problems.push({
        file: found.path,
        text: `has the number of ${documents.get(Number(number))?.path}; keep one of them`,
      });
    else documents.set(Number(number), found);
  }
  const picture = (id: number, owner: string): File | null => {
    const [only, ...others] = images.get(id) ?? [];
    if (only && others.length === 0) return only.file;
    const text = only ? `could have ${[only, ...others].map(({ path }) => path).join(" or ")}` : `has no picture ${id}`;
    problems.push({ file: owner, text });
    return null;
  };
  const tokens: FolderToken[] = [];
  if (documents.size === 0) {
    for (const path of leftOut.filter((one) => /(^|\/)_?metadata\.json$/i.test(one)))
      problems.push({ file: path, text: "is no token's document: put one beside each picture, such as 0.json" });
    for (const path of [...shown.keys()].filter((one) => !/(^|\/)\d+\.[^/]*$/.test(one)))
      problems.push({ file: path, text: "is not named by a token's number, such as 0.png" });
    for (const id of images.keys()) {
      const file = picture(id, `token ${id}`);
      tokens.push({ id, document: null, files: file ? [{ name: null, file }] : [] });
    }
  }
  const fileOf = finderOf(shown);
  const pathOf = new Map([...shown.values()].map(({ path, file }) => [file, path]));
  const shownPictures: ShownPicture[] = [];
  for (const [id, { path, file }] of documents) {
    const document = await readDocument({ path, file }, problems);
    const token: FolderToken = { id, document, files: [] };
    tokens.push(token);
    if (document === null) continue;
    const found = findFileNames(document);
    for (const text of [...found.faults, ...(await findBrokenData(document))]) problems.push({ file: path, text });
    const own: ShownPicture = { number: id, document: path, picture: null };
    shownPictures.push(own);
    for (const name of found.names) {
      const named = name.name === null ? picture(id, path) : fileOf({ ...name, name: name.name });
      if (named) {
        token.files.push({ name, file: named });
        if (/^image(_url)?$/.test(name.member)) own.picture = pathOf.get(named) ?? null;
      } else if (name.name !== null)
        problems.push({
          file: path,
          text: `${name.member} names ${name.name.slice(0, 120)}, which is no file of the folder`,
        });
    }
  }
  const numbered = new Map([...images].map(([id, all]) => [id, all.map(({ path }) => path)]));
  for (const { document, text, isFault } of findForeignPictures(shownPictures, numbered))
    if (isFault) problems.push({ file: document, text });
  tokens.sort((one, other) => one.id - other.id);
  checkNumbers(tokens, problems);
  const used = [...new Set(tokens.flatMap((token) => token.files.map(({ file }) => file)))];
  const isUsed = new Set(used);
  for (const [path, { file }] of shown) {
    if (!isUsed.has(file)) leftOut.push(path);
    else if (file.size === 0) problems.push({ file: path, text: "is empty" });
    else if (file.size > mostBytes)
      problems.push({ file: path, text: `is over the limit of ${mostBytes} bytes; make it smaller` });
    else {
      const fault = await findFileFault(path, file.size, async (start, length) => {
        const from = Math.max(start, 0);
        return new Uint8Array(await file.slice(from, from + length).arrayBuffer());
      });
      if (fault) problems.push({ file: path, text: describeFault(fault) });
    }
  }
  return { tokens, files: used, bytes: used.reduce((sum, { size }) => sum + size, 0), problems, leftOut };
}

/** Finds the file that a name in a document refers to. */
function finderOf(shown: ReadonlyMap<string, Found>): (name: FileName & { name: string }) => File | null {
  const parts = [...shown.keys()].map((path) => path.split("/").slice(0, -1));
  const [first = []] = parts;
  const differs = first.findIndex((part, at) => parts.some((other) => other[at] !== part));
  // The pictures' folder is part of a name: `images/0.png`.
  const above = differs >= 0 ? differs : Math.max(first.length - 1, 0);
  const below = (path: readonly string[]) => path.slice(above).join("/");
  const paths = new Map([...shown].map(([path, found]) => [below(path.split("/")), found.file]));
  // Among files of one name in several folders, the one in the pictures' own folder is the picture.
  const folders = [...new Set(parts.map(below))].sort((a, b) => Number(isPictures(b)) - Number(isPictures(a)));
  const names = new FileNames(paths.keys(), folders);
  return (name) => {
    const [only, ...others] = names.find(name);
    return others.length > 0 ? null : (paths.get(only ?? "") ?? null);
  };
}

function isPictures(folder: string): boolean {
  return /(^|\/)images$/i.test(folder);
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** @returns the document's text, which is a JSON object. */
async function readDocument({ path, file }: Found, problems: FolderProblem[]): Promise<string | null> {
  try {
    const text = utf8.decode(await file.arrayBuffer());
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return text;
    problems.push({ file: path, text: "must be one JSON object" });
  } catch (error) {
    const text =
      error instanceof SyntaxError ? `is not JSON: ${error.message}` : "is not in UTF-8; save it in that encoding";
    problems.push({ file: path, text });
  }
  return null;
}

/** Contracts count from 0 without gaps. The numbers of a folder that counts from 1 are reduced by one. */
function checkNumbers(tokens: FolderToken[], problems: FolderProblem[]): void {
  if (tokens.length === 0) return void problems.push({ file: "", text: "The folder has no pictures." });
  const first = tokens[0]?.id ?? 0;
  if (first === 1) for (const token of tokens) token.id -= 1;
  const wrong = tokens.findIndex(({ id }, at) => id !== at);
  if (wrong >= 0)
    problems.push({ file: `${wrong + (first === 1 ? 1 : 0)}`, text: "is missing: numbers must have no gap" });
}

/** The document from the folder, with the links of its files; if it has no name, it gets one from the collection's. */
export function documentOf(
  { id, document, files }: FolderToken,
  collection: string,
  cids: ReadonlyMap<File, string>,
): string {
  const links = new Map(
    files.map(({ name, file }) => [name, linkOf(cids.get(file) ?? "", name ?? { name: null }, file.name)]),
  );
  const name = `${collection} #${id}`;
  if (document === null) return JSON.stringify({ name, image: links.get(null) });
  const linked = linkFiles(
    document,
    files.flatMap((one) => one.name ?? []),
    (one) => links.get(one) ?? null,
  );
  const members = JSON.parse(linked) as object;
  if (Object.hasOwn(members, "name")) return linked;
  return linked.replace("{", () => `{"name":${JSON.stringify(name)}${Object.keys(members).length > 0 ? "," : ""}`);
}
