/**
 * Finds the names of files in a metadata document, and replaces them with links. Every other byte stays as it is. The
 * console's browser code uses this file too, so it imports nothing.
 */

/** A position in a document's text where a file is named. */
export interface FileName {
  /** Start of the text to replace, in UTF-16 units. */
  start: number;
  end: number;
  /** Path of the member, such as `properties.files.0.uri`. */
  member: string;
  /** As in the document; null: `image` is absent or empty, and the picture with the token's number is meant. */
  name: string | null;
  /** The name is part of a longer text, so its end is a guess. */
  within?: true;
  /** The JSON text to write there. */
  write(link: string): string;
}

/** Members whose text is always the link of a file. */
const fileMembers = /^(image|image_url|animation|animation_url)$|^properties\.files\.\d+(\.(uri|url))?$/;
/** Members that may contain a link, such as `artifactUri` or `content.uri`: a text with a file's extension is one. */
const linkMembers = /^(thumbnail|video|audio|model)$|(^|[._])(uri|url|src)$|[a-z](Uri|URI|Url|URL)$/;
/** Links to web pages, which people write without `https:`. */
const pageMembers = /^(external|home|site|web)/i;
/** Extensions of pictures. */
export const pictureNames = /\.(png|jpe?g|gif|webp|svg|avif|bmp|tiff?)$/i;
/** Extensions of other files that pages show or play. */
export const mediaNames = /\.(mp4|webm|mov|m4v|ogv|mp3|wav|ogg|oga|flac|m4a|glb|gltf|html?|pdf)$/i;
const contentIds =
  /^(Qm[1-9A-HJ-NP-Za-km-z]{44}|b[a-z2-7]{50,}|B[A-Z2-7]{50,}|z[1-9A-HJ-NP-Za-km-z]{45,}|[fF]01[0-9a-fA-F]{60,}|k[0-9a-z]{45,}|u[\w-]{44,})$/;
/** No hash has eight equal letters in a row, but placeholders do. An identity CID has plain text in place of a hash. */
const patterned = /^(?!bafkq|bafyq).*(.)\1{7}/i;
const marks = String.raw`<[^<>\s]*>|\$?\{[^{}\s]*\}|\[[^[\]\s]*\]`;
const unfilled = /<[^>]*>|\{\w*\}|%7B\w*%7D|NewUriToReplace/i;
/** Links to IPFS, also through a gateway, with a placeholder for the CID. */
const placeholders = new RegExp(
  String.raw`(?:ipfs:\/\/|https?:\/\/[^\s"'<>{}]{1,200}?\/ipfs\/(?=NewUriToReplace|<|\$?\{|\[))(?:${marks})?[^\s"'<>()[\]{}|\\^${"`"},;&]*`,
  "gi",
);
/** Servers that only their owner can reach. */
const ownHosts =
  /^([^.[]+|\[::1\]|.*\.(localhost|local)|127\.[\d.]+|0\.0\.0\.0|10\.[\d.]+|192\.168\.[\d.]+|172\.(1[6-9]|2\d|3[01])\.[\d.]+)$/i;

/**
 * Finds every name of a file in a JSON object: whole strings of the members for files, and anywhere `ipfs://` links
 * whose first part is no CID.
 *
 * @param text valid JSON.
 * @returns the names, and faults of members that cannot contain a link.
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
  // Clients read `image_url` or `image_data` where `image` is empty.
  if (shown) return { names: names.filter(({ name }) => name !== null), faults };
  if (!image) {
    const start = text.indexOf("{") + 1;
    const comma = /^\s*\}/.test(text.slice(start)) ? "" : ",";
    const write = (link: string) => `"image":${JSON.stringify(link)}${comma}`;
    names.unshift({ start, end: start, member: "image", name: null, write });
  }
  return { names, faults };
}

/** Whether the whole text is the name of one file. */
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

/** The link of a file by its CID. A suffix such as `?seed=5`, which passes values to a page or a drawing, is kept. */
export function linkOf(cid: string, { name }: Pick<FileName, "name">, path: string): string {
  const given = /\.(html?|svg)$/i.test(path) ? /\.(?:html?|svg)([?#].*)$/is.exec(name ?? "")?.[1] : undefined;
  return `ipfs://${cid}${given === undefined || path.endsWith(given) ? "" : given}`;
}

/** The document with each name replaced by its link, where it has one. */
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

/** Whether clients can follow a link: it has no placeholder left, and does not lead to its author's machine. */
function isLink(value: string): boolean {
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

function withoutStop(link: string): string {
  return link.replace(/[.!?:]+$/, "");
}

/** Names within a longer text: the first one writes the string up to the second, and so on. */
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
    // Either all are written or none: a name without a link makes the document invalid.
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
 * Every string, number, boolean and null of a JSON text, with its position and path. A list or an object directly in
 * the document is also yielded, as an empty one, before its content.
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
