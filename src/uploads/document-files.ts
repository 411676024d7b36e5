/**
 * The files of a folder that a metadata document names, and the document with links in their places. Every other byte stays.
 * The console's browser code uses this file too: it imports nothing.
 */

/** A place in a document's text that names a file. */
export interface FileName {
  /** Where the new text goes, in UTF-16 units of the document. */
  start: number;
  end: number;
  /** The member that has the name, such as `properties.files.0.uri`. */
  member: string;
  /** As it stands in the document; null: `image` is absent or empty, and the picture of the token's number is meant. */
  name: string | null;
  /** The JSON text that belongs there. */
  write(link: string): string;
}

/** Members whose text is the link of a file, whatever stands around them. */
const fileMembers =
  /^(image|image_url|animation|animation_url|thumbnail|video|audio|model)$|^properties\.files\.\d+\.uri$/;
const contentIds =
  /^(Qm[1-9A-HJ-NP-Za-km-z]{44}|b[a-z2-7]{50,}|B[A-Z2-7]{50,}|z[1-9A-HJ-NP-Za-km-z]{45,}|[fF]01[0-9a-fA-F]{60,}|k[0-9a-z]{45,}|u[\w-]{44,})$/;
const unfilled = /<[^>]*>|NewUriToReplace/i;
const placeholders = /ipfs:\/\/[^\s"'<>()[\]{}|\\^`,;]+/gi;

/**
 * Finds every name of a file in a JSON object: whole strings of the members that hold files, and `ipfs://` links anywhere whose
 * first part is no CID.
 *
 * @param text valid JSON.
 * @returns with the faults of members that cannot hold a link.
 */
export function findFileNames(text: string): { names: FileName[]; faults: string[] } {
  const names: FileName[] = [];
  const faults: string[] = [];
  let [image, drawn] = [false, false];
  for (const { start, end, member, value } of scalarsOf(text)) {
    image ||= member === "image";
    drawn ||= member === "image_data";
    const place = { start, end, member };
    if (typeof value !== "string") {
      if (fileMembers.test(member) && value !== null) faults.push(`${member} is no text`);
      if (member === "image" && value === null) names.push({ ...place, name: null, write: JSON.stringify });
      continue;
    }
    if (fileMembers.test(member) && value.trim() === "") {
      if (member === "image") names.push({ ...place, name: null, write: JSON.stringify });
      continue;
    }
    const whole = fileMembers.test(member) || /^ipfs:\/\/\S*$/i.test(value);
    if (whole && !isLink(value)) names.push({ ...place, name: value, write: JSON.stringify });
    else if (!/^data:/i.test(value)) {
      const found = [...value.matchAll(placeholders)].filter(([link]) => !isLink(withoutStop(link)));
      if (found.length > 0) names.push(...embedded(place, value, found));
    }
  }
  if (!image && !drawn) {
    const start = text.indexOf("{") + 1;
    const comma = /^\s*\}/.test(text.slice(start)) ? "" : ",";
    const write = (link: string) => `"image":${JSON.stringify(link)}${comma}`;
    names.unshift({ start, end: start, member: "image", name: null, write });
  }
  return { names, faults };
}

/** The document with a link in the place of each name that has one. */
export function linkFiles(text: string, names: readonly FileName[], linkOf: (name: FileName) => string | null): string {
  let [made, at] = ["", 0];
  for (const name of names) {
    const link = linkOf(name);
    if (link === null) continue;
    made += text.slice(at, name.start) + name.write(link);
    at = name.end;
  }
  return made + text.slice(at);
}

/** Whether readers can follow a link: nothing of it is left to be filled in. */
export function isLink(value: string): boolean {
  const text = value.trim();
  if (/^data:[a-z]+\//i.test(text) || /^ar:\/\/[\w-]{43}(\/|$)/i.test(text) || /^ipns:\/\/./i.test(text)) return true;
  const content = /^ipfs:\/*(?:ipfs\/+)*([^/?#]*)/i.exec(text)?.[1];
  if (content !== undefined) return contentIds.test(content);
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text) || unfilled.test(text)) return false;
  const throughGateway = /\/ipfs\/(?:ipfs\/)*([^/?#]*)/.exec(text)?.[1];
  return throughGateway === undefined || contentIds.test(throughGateway);
}

/** Files of a folder by the names that documents have for them. */
export class FileNames {
  readonly #paths = new Map<string, string>();
  readonly #loose = new Map<string, string[]>();
  readonly #stems = new Map<string, string[]>();
  readonly #folders: readonly string[];

  /**
   * @param paths with slashes, from the folder that holds the folders of media.
   * @param folders of media below it, the pictures first; "" is that folder itself.
   */
  constructor(paths: Iterable<string>, folders: readonly string[]) {
    this.#folders = folders;
    for (const path of paths) {
      this.#paths.set(path, path);
      push(this.#loose, loosely(path), path);
      push(this.#stems, loosely(path).replace(/\.[^./]*$/, ""), path);
    }
  }

  /** The one file that a name means. @returns null when there is none, or several could be meant. */
  find(name: string): string | null {
    for (const path of pathsOf(name, this.#folders)) {
      const exact = this.#places(path).flatMap((place) => this.#paths.get(place) ?? []);
      const alike = this.#places(path).map((place) => this.#loose.get(loosely(place)) ?? []);
      // A name without an extension is whole only where the document has none.
      const stems = /\.[^./]*$/.test(path)
        ? []
        : this.#places(path).map((place) => this.#stems.get(loosely(place)) ?? []);
      const found = [exact.slice(0, 1), ...alike, ...stems].find((paths) => paths.length > 0);
      if (found) return found.length === 1 ? (found[0] ?? null) : null;
    }
    return null;
  }

  /** The pictures of a token by its number. */
  numbered(number: number): string[] {
    const [pictures = ""] = this.#folders;
    return this.#stems.get(`${pictures}/${number}`) ?? [];
  }

  /** From the folder above, and from within each folder. */
  #places(path: string): string[] {
    return [path, ...this.#folders.filter(Boolean).map((folder) => `${folder}/${path}`)];
  }
}

/** What a name can mean, the literal first: `ipfs://NewUriToReplace/3.png`, `images/3.png`, `C:\art\images\3.png`, `3.png`. */
function pathsOf(name: string, folders: readonly string[]): string[] {
  const plain = name.trim();
  const inside =
    /^(?:ipfs|ar):\/*(?:ipfs\/+)*(.+)$/is.exec(plain)?.[1] ?? /^https?:.*?\/ipfs\/(.+)$/is.exec(plain)?.[1];
  const forms = [inside ?? plain, (inside ?? plain).replace(/[?#].*$/s, "")].flatMap((form) => [form, decoded(form)]);
  const paths = forms.flatMap((form) => {
    const segments = form
      .replaceAll("\\", "/")
      .split("/")
      .filter((segment) => segment !== "" && segment !== ".");
    // What stands for the CID is no folder, unless it is all there is.
    const below = inside !== undefined && segments.length > 1 ? segments.slice(1) : segments;
    const at = below.findLastIndex((segment) => folders.some((folder) => isCalled(folder, segment)));
    const folder = folders.find((one) => isCalled(one, below[at] ?? ""));
    return [below, ...(folder === undefined ? [] : [[folder, ...below.slice(at + 1)]])].map((parts) => parts.join("/"));
  });
  return [...new Set(paths)].filter((path) => path !== "" && !path.split("/").includes(".."));
}

function isCalled(folder: string, segment: string): boolean {
  return segment !== "" && folder.split("/").at(-1) === segment;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The same for names that one file system tells apart and another does not. */
function loosely(path: string): string {
  return path.normalize("NFC").toLowerCase();
}

function push(map: Map<string, string[]>, key: string, path: string): void {
  map.set(key, [...(map.get(key) ?? []), path]);
}

function withoutStop(link: string): string {
  return link.replace(/[.!?:]+$/, "");
}

/** Links within a longer text: the first writes the string up to the second, and so on. */
function embedded(
  place: { start: number; end: number; member: string },
  value: string,
  found: readonly RegExpMatchArray[],
): FileName[] {
  const quoteless = (text: string) => JSON.stringify(text).slice(1, -1);
  return found.map(({ 0: match, index = 0 }, at) => {
    const name = withoutStop(match);
    const next = found[at + 1]?.index ?? value.length;
    const before = at === 0 ? `"${quoteless(value.slice(0, index))}` : "";
    const after = quoteless(value.slice(index + name.length, next)) + (at === found.length - 1 ? '"' : "");
    // All are written or none: a name without a link refuses the document.
    const [start, end] = at === 0 ? [place.start, place.end] : [place.end, place.end];
    return { start, end, member: place.member, name, write: (link) => before + quoteless(link) + after };
  });
}

interface Scalar {
  start: number;
  end: number;
  member: string;
  value: unknown;
}

/** Every string, number, boolean and null of a JSON text, with its place and the members that lead to it. */
function* scalarsOf(text: string): Generator<Scalar> {
  const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/gs;
  const levels: { list: boolean; member: string | number; isKey: boolean }[] = [];
  for (const { 0: token, index } of text.matchAll(tokens)) {
    const level = levels.at(-1);
    if (token === "{") levels.push({ list: false, member: "", isKey: true });
    else if (token === "[") levels.push({ list: true, member: 0, isKey: false });
    else if (token === "}" || token === "]") levels.pop();
    else if (token === ":" && level) level.isKey = false;
    else if (token === "," && level) {
      if (level.list) level.member = Number(level.member) + 1;
      else level.isKey = true;
    } else if (level?.isKey) level.member = String(JSON.parse(token));
    else {
      const member = levels.map((one) => one.member).join(".");
      yield { start: index, end: index + token.length, member, value: JSON.parse(token) };
    }
  }
}

/** Files that operating systems and archives leave behind. */
export function isSystemFile(name: string): boolean {
  return /^(\.(?!json$)[^.]|__MACOSX$|(eh)?thumbs(_vista)?\.db$|desktop\.ini$|icon\r$|~\$)/i.test(name);
}

/** Files of a generator's folder that are no token's: one document with all others, or the collection's own. */
export function isLeftOut(name: string): boolean {
  return isSystemFile(name) || /^_?(metadata|collection)\.json$/i.test(name);
}
