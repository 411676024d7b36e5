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
  /** It stands within a longer text, so that its end is a guess. */
  within?: true;
  /** The JSON text that belongs there. */
  write(link: string): string;
}

/** Members whose text is the link of a file, whatever stands around them. */
const fileMembers = /^(image|image_url|animation|animation_url)$|^properties\.files\.\d+(\.(uri|url))?$/;
/** Members that may hold a link, such as `artifactUri` or `content.uri`: a text that ends as files do is one. */
const linkMembers = /^(thumbnail|video|audio|model)$|(^|[._])(uri|url|src)$|[a-z](Uri|URI|Url|URL)$/;
/** They lead to pages, and people write them without `https:`. */
const pageMembers = /^(external|home|site|web)/i;
/** Files that are shown as pictures by their names. */
export const pictureNames = /\.(png|jpe?g|gif|webp|svg|avif|bmp|tiff?)$/i;
/** Other files that pages show or play. */
export const mediaNames = /\.(mp4|webm|mov|m4v|ogv|mp3|wav|ogg|oga|flac|m4a|glb|gltf|html?|pdf)$/i;
const contentIds =
  /^(Qm[1-9A-HJ-NP-Za-km-z]{44}|b[a-z2-7]{50,}|B[A-Z2-7]{50,}|z[1-9A-HJ-NP-Za-km-z]{45,}|[fF]01[0-9a-fA-F]{60,}|k[0-9a-z]{45,}|u[\w-]{44,})$/;
/** Eight equal letters stand in no hash, but in what stands for one. An identity CID has its text in the place of a hash. */
const patterned = /^(?!bafkq|bafyq).*(.)\1{7}/i;
const marks = String.raw`<[^<>\s]*>|\$?\{[^{}\s]*\}|\[[^[\]\s]*\]`;
const unfilled = /<[^>]*>|\{\w*\}|%7B\w*%7D|NewUriToReplace/i;
/** Links to IPFS, also through a gateway where a mark stands for the CID. */
const placeholders = new RegExp(
  String.raw`(?:ipfs:\/\/|https?:\/\/[^\s"'<>{}]{1,200}?\/ipfs\/(?=NewUriToReplace|<|\$?\{|\[))(?:${marks})?[^\s"'<>()[\]{}|\\^${"`"},;&]*`,
  "gi",
);
/** Servers that nobody else reaches. */
const ownHosts =
  /^([^.[]+|\[::1\]|.*\.(localhost|local)|127\.[\d.]+|0\.0\.0\.0|10\.[\d.]+|192\.168\.[\d.]+|172\.(1[6-9]|2\d|3[01])\.[\d.]+)$/i;

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
  let [image, shown] = [false, false];
  for (const { start, end, member, value } of valuesOf(text)) {
    image ||= member === "image";
    shown ||= member === "image_data" || (member === "image_url" && typeof value === "string" && value.trim() !== "");
    const place = { start, end, member };
    if (typeof value !== "string") {
      if (/^(image|animation)/.test(member) && fileMembers.test(member) && value !== null)
        faults.push(`${member} is no text`);
      if (member === "image" && value === null) names.push({ ...place, name: null, write: JSON.stringify });
      continue;
    }
    if (fileMembers.test(member) && value.trim() === "") {
      if (member === "image") names.push({ ...place, name: null, write: JSON.stringify });
      continue;
    }
    if (isWhole(member, value) && !isLink(value)) names.push({ ...place, name: value, write: JSON.stringify });
    else if (!/^data:/i.test(value)) {
      const found = [...value.matchAll(placeholders)].filter(([link]) => isUnfilled(withoutStop(link)));
      if (found.length > 0) names.push(...embedded(place, value, found));
    }
  }
  // Readers take `image_url` or `image_data` where `image` is empty.
  if (shown) return { names: names.filter(({ name }) => name !== null), faults };
  if (!image) {
    const start = text.indexOf("{") + 1;
    const comma = /^\s*\}/.test(text.slice(start)) ? "" : ",";
    const write = (link: string) => `"image":${JSON.stringify(link)}${comma}`;
    names.unshift({ start, end: start, member: "image", name: null, write });
  }
  return { names, faults };
}

/** Whether the text is the name of one file from its beginning to its end. */
function isWhole(member: string, value: string): boolean {
  if (fileMembers.test(member)) return true;
  if (linkMembers.test(member) && !/^[a-z][a-z0-9+.-]*:/i.test(value))
    return !pageMembers.test(member) && isFileName(value);
  return /^ipfs:\/\/\S*$/i.test(value) || (/^ipfs:\/\/[^"]*$/i.test(value) && isFileName(value));
}

function isFileName(text: string): boolean {
  const name = text.replace(/[?#].*$/s, "");
  return [text, name].some((one) => pictureNames.test(one) || mediaNames.test(one));
}

function isUnfilled(link: string): boolean {
  return !/^ipfs:\/*$/i.test(link) && !isLink(link);
}

/** The link of a file by its CID. What a name gives to a page or a drawing, such as `?seed=5`, goes with it. */
export function linkOf(cid: string, { name }: Pick<FileName, "name">, path: string): string {
  const given = /\.(html?|svg)$/i.test(path) ? /\.(?:html?|svg)([?#].*)$/is.exec(name ?? "")?.[1] : undefined;
  return `ipfs://${cid}${given === undefined || path.endsWith(given) ? "" : given}`;
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

/** Whether readers can follow a link: nothing of it is left to be filled in, and it leads to no machine of its author's. */
export function isLink(value: string): boolean {
  const text = value.trim();
  if (/^data:[a-z]+\//i.test(text) || /^ar:\/\/[\w-]{43}(\/|$)/i.test(text) || /^ipns:\/\/./i.test(text)) return true;
  if (unfilled.test(text)) return false;
  const content = /^ipfs:\/*(?:ipfs\/+)*([^/?#]*)/i.exec(text)?.[1];
  if (content !== undefined) return isContentId(content);
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text) || ownHosts.test(new URL(text).hostname)) return false;
  const throughGateway = /\/ipfs\/(?:ipfs\/)*([^/?#]*)/.exec(text)?.[1];
  return throughGateway === undefined || isContentId(throughGateway);
}

function isContentId(text: string): boolean {
  return contentIds.test(text) && !patterned.test(text);
}

/** Files of a folder by the names that documents have for them. */
export class FileNames {
  readonly #paths: ReadonlySet<string>;
  readonly #loose = new Map<string, string[]>();
  readonly #stems = new Map<string, string[]>();
  readonly #pictures = new Map<number, string[]>();
  readonly #folders: readonly string[];

  /**
   * @param paths with slashes, from the folder that holds the folders of media.
   * @param folders of media below it, the pictures first; "" is that folder itself.
   */
  constructor(paths: Iterable<string>, folders: readonly string[]) {
    this.#folders = folders;
    this.#paths = new Set(paths);
    for (const path of this.#paths) {
      push(this.#loose, loosely(path), path);
      if (pictureNames.test(path) || mediaNames.test(path))
        push(this.#stems, loosely(path).replace(/\.[^./]*$/, ""), path);
      const number = numberOfPicture(path, folders[0] ?? "");
      if (number !== null) push(this.#pictures, number, path);
    }
  }

  /**
   * The files that a name can mean: one, or none, or several that nothing tells apart. Of pictures of one name in several
   * folders it is the one in the pictures' own.
   */
  find({ name, member, within }: Pick<FileName, "member" | "within"> & { name: string }): readonly string[] {
    for (const { path, cut } of pathsOf(name, this.#folders)) {
      const places = this.#places(path);
      const oneOf = (pathsAt: (place: string) => readonly string[]): readonly string[] => {
        const all = places.map(pathsAt);
        const isNear = /^image/.test(member) || pictureNames.test(path) || path.includes("/");
        return isNear ? (all.find((paths) => paths.length > 0) ?? []) : all.flat();
      };
      const exact = oneOf((place) => (this.#paths.has(place) ? [place] : []));
      if (exact.length > 0) return exact;
      const alike = oneOf((place) => this.#loose.get(loosely(place)) ?? []);
      if (alike.length > 0) return alike;
      // A name without an extension is whole only where the document has none, and nothing was cut from it.
      if (cut || within || /\.[^./]*$/.test(path)) continue;
      const stems = oneOf((place) => this.#stems.get(loosely(place)) ?? []);
      if (stems.length > 0) return stems;
    }
    return [];
  }

  /** The pictures in their folder by their numbers, with zeros before them or without. */
  get pictures(): ReadonlyMap<number, readonly string[]> {
    return this.#pictures;
  }

  /** From the folder above, and from within each folder. */
  #places(path: string): string[] {
    return [...new Set([path, ...this.#folders.filter(Boolean).map((folder) => `${folder}/${path}`)])];
  }
}

function numberOfPicture(path: string, folder: string): number | null {
  const name = folder === "" ? path : path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : "";
  const [, number, extension = ".png"] = /^(\d{1,15})(\.[^./]*)?$/.exec(name) ?? [];
  return number !== undefined && pictureNames.test(extension) ? Number(number) : null;
}

/** A token's document, its number and the picture that it names; null: a link. */
export interface ShownPicture {
  number: number;
  document: string;
  picture: string | null;
}

/**
 * Documents that name the picture of another number, which is that token's. Where their own is nobody's they were copied from
 * the other, or a number was mistyped; else one picture for several tokens can be meant.
 *
 * @param pictures by their numbers.
 */
export function findForeignPictures(
  tokens: readonly ShownPicture[],
  pictures: ReadonlyMap<number, readonly string[]>,
): { document: string; text: string; isFault: boolean }[] {
  const used = new Set(tokens.map(({ picture }) => picture));
  const numbers = new Map([...pictures].flatMap(([number, paths]) => paths.map((path) => [path, number] as const)));
  const owners = new Map(tokens.map((token) => [token.number, token]));
  return tokens.flatMap(({ number, document, picture }) => {
    const shown = numbers.get(picture ?? "") ?? number;
    const owner = shown === number ? undefined : owners.get(shown);
    if (picture === null || owner?.picture !== picture) return [];
    const own = pictures.get(number) ?? [];
    const text = `image names ${picture}, which is the picture of ${owner.document}`;
    if (own.length === 0 || own.some((path) => used.has(path))) return { document, text, isFault: false };
    const further = `and ${own.join(" and ")} is nobody's: correct the document, or take that file away`;
    return { document, text: `${text}, ${further}`, isFault: true };
  });
}

/** What a name can mean, the literal first: `ipfs://NewUriToReplace/3.png`, `images/3.png`, `C:\art\images\3.png`, `3.png`. */
function* pathsOf(name: string, folders: readonly string[]): Generator<{ path: string; cut: boolean }> {
  const plain = name.trim();
  const inside =
    /^(?:ipfs|ar):\/*(?:ipfs\/+)*(.+)$/is.exec(plain)?.[1] ?? /^https?:.*?\/ipfs\/(.+)$/is.exec(plain)?.[1];
  const literal = inside ?? plain;
  const cuts = [literal, literal.replace(/[?#][^?#]*$/, ""), literal.replace(/[?#].*$/s, "")];
  const forms = new Set(cuts.flatMap((form) => [form, decoded(form)]));
  for (const form of forms) {
    const cut = form !== literal && form !== decoded(literal);
    const segments = form
      .replaceAll("\\", "/")
      .split("/")
      .filter((segment) => segment !== "" && segment !== ".");
    // What stands for the CID is no folder, unless it is all there is.
    const below = inside !== undefined && segments.length > 1 ? segments.slice(1) : segments;
    const place = below.findLastIndex((segment) => folders.some((folder) => isCalled(folder, segment)));
    const folder = folders.find((one) => isCalled(one, below[place] ?? ""));
    for (const parts of folder === undefined ? [below] : [below, [folder, ...below.slice(place + 1)]])
      if (parts.length > 0 && !parts.includes("..")) yield { path: parts.join("/"), cut };
  }
}

function isCalled(folder: string, segment: string): boolean {
  return segment !== "" && loosely(folder.split("/").at(-1) ?? "") === loosely(segment);
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

function push<K>(map: Map<K, string[]>, key: K, path: string): void {
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
    return { start, end, member: place.member, name, within: true, write: (link) => before + quoteless(link) + after };
  });
}

interface Value {
  start: number;
  end: number;
  member: string;
  value: unknown;
}

/**
 * Every string, number, boolean and null of a JSON text, with its place and the members that lead to it. A list or an object as
 * a member of the document itself is told as an empty one, before what is in it.
 */
function* valuesOf(text: string): Generator<Value> {
  const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/gs;
  const levels: { list: boolean; member: string | number; isKey: boolean }[] = [];
  for (const { 0: token, index } of text.matchAll(tokens)) {
    const level = levels.at(-1);
    if (token === "{" || token === "[") {
      if (levels.length === 1) yield { start: index, end: index, member: String(level?.member), value: {} };
      levels.push(token === "{" ? { list: false, member: "", isKey: true } : { list: true, member: 0, isKey: false });
    } else if (token === "}" || token === "]") levels.pop();
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

/** Files that `image` cannot mean. */
export const plainNames = /\.(txt|json|csv|css|js|xml|zip|md)$/i;

/** Files and folders that operating systems, disk stations and archives leave behind. */
export function isSystemFile(name: string): boolean {
  return /^(\.(?!json$)[^.]|__MACOSX$|@eaDir$|\$RECYCLE\.BIN$|(eh)?thumbs(_vista)?\.db$|desktop\.ini$|icon\r$|~\$)|:Zone\.Identifier$|@Syno\w+$/i.test(
    name,
  );
}

/** Files of a generator's folder that are no token's: one document with all others, or the collection's own. */
export function isLeftOut(name: string): boolean {
  return isSystemFile(name) || /^(_?(metadata|collection)|_\D.*)\.json$/i.test(name);
}
