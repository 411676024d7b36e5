/**
 * The files of a folder: which of them a name in a document means, and which belong to no token. The console's browser
 * code uses this file too, so it only imports names of files in documents.
 */
import { type FileName, mediaNames, pictureNames } from "./document-files.ts";

/** Files of a folder, by the names that documents use for them. */
export class FileNames {
  readonly #paths: ReadonlySet<string>;
  readonly #loose = new Map<string, string[]>();
  readonly #stems = new Map<string, string[]>();
  readonly #pictures = new Map<number, string[]>();
  readonly #folders: readonly string[];

  /**
   * @param paths with slashes, relative to the folder that contains the folders of media.
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
   * The files that a name can mean: one, none, or several if it is ambiguous. Of pictures with the same name in several
   * folders it is the one in the folder of pictures.
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
      // A name without an extension only counts as complete if the document's has none either, and nothing was cut off.
      if (cut || within || /\.[^./]*$/.test(path)) continue;
      const stems = oneOf((place) => this.#stems.get(loosely(place)) ?? []);
      if (stems.length > 0) return stems;
    }
    return [];
  }

  /** The pictures in their folder by number, with or without leading zeros. */
  get pictures(): ReadonlyMap<number, readonly string[]> {
    return this.#pictures;
  }

  /** The paths relative to the folder above, and to each folder. */
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
 * Finds documents that share the picture of another token's number with that token. It is a fault (a copy, or a
 * mistyped number) if their own picture exists and nothing names it; else it may be on purpose.
 *
 * @param pictures by number.
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

/** Paths that a name can mean, the literal first: `ipfs://NewUriToReplace/3.png`, `C:\art\images\3.png`, `3.png`. */
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
    // A placeholder for the CID is no folder, unless it is the whole name.
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

/** Maps names to one form that differ on some file systems and not on others. */
function loosely(path: string): string {
  return path.normalize("NFC").toLowerCase();
}

function push<K>(map: Map<K, string[]>, key: K, path: string): void {
  map.set(key, [...(map.get(key) ?? []), path]);
}

/** Files that cannot be an `image`. */
export const plainNames = /\.(txt|json|csv|css|js|xml|zip|md)$/i;

/** Files and folders that operating systems, NAS devices and archives leave behind. */
export function isSystemFile(name: string): boolean {
  return /^(\.(?!json$)[^.]|__MACOSX$|@eaDir$|\$RECYCLE\.BIN$|(eh)?thumbs(_vista)?\.db$|desktop\.ini$|icon\r$|~\$)|:Zone\.Identifier$|@Syno\w+$/i.test(
    name,
  );
}

/** Files in a generator's output that belong to no token: one document with all others, or the collection's own. */
export function isLeftOut(name: string): boolean {
  return isSystemFile(name) || /^(_?(metadata|collection)|_\D.*)\.json$/i.test(name);
}
