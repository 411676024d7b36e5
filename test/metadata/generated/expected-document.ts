import { bytesAt, type Found, type World, withId } from "./expected-bytes.ts";
import { expectedTraits, plain, type Trait } from "./expected-traits.ts";
import { type Json, type JsonObject, parseJson, TooDeep, Written } from "./lenient-json.ts";
import { sizeOf } from "./picture-size.ts";

/*
 * What a token shows, as docs/metadata.md says, read without a line of the product.
 */

export interface Expected {
  status: "FRESH" | "FAILED";
  /** Codes of which one is told, where there is no document. */
  errors: readonly string[];
  /** As the contract returns it. */
  url: string | null;
  document: Json;
  name: string | null;
  description: string | null;
  fileUrl: string | null;
  animationUrl: string | null;
  cachedFileUrl: string | null;
  cachedAnimationUrl: string | null;
  fileInformation: { width: number; height: number; sizeBytes: number } | null;
  traits: Trait[];
  warnings: string[];
  /** Codes of which one is told of the picture. */
  pictureErrors: readonly string[];
}

const nothing: Omit<Expected, "status" | "errors" | "url"> = {
  ...{ document: null, name: null, description: null, fileUrl: null, animationUrl: null },
  ...{
    cachedFileUrl: null,
    cachedAnimationUrl: null,
    fileInformation: null,
    traits: [],
    warnings: [],
    pictureErrors: [],
  },
};

/** Of what a call returns: two words, and the text in whole words. */
const mostReturned = 1_048_576;
const most = { depth: 64, members: 5_000, repairs: 10_000, text: 65_536, link: 1_500_000 };
const pictures = ["image", "image_url", "image_data", "svg_image_data"];

/** The text of a file, in UTF-8 or UTF-16; whether all of its bytes are text. */
function textOfBytes(bytes: Uint8Array): { text: string; whole: boolean } {
  const [first = 1, second = 1] = bytes;
  const little = (first === 0xff && second === 0xfe) || (first !== 0 && second === 0);
  const big = (first === 0xfe && second === 0xff) || (first === 0 && second !== 0);
  const encoding = little ? "utf-16le" : big ? "utf-16be" : "utf-8";
  try {
    return { text: new TextDecoder(encoding, { fatal: true }).decode(bytes), whole: true };
  } catch {
    return { text: new TextDecoder(encoding).decode(bytes), whole: false };
  }
}

/** The object in a text, or why there is none. */
function objectIn(text: string, again = true): JsonObject | string[] {
  try {
    const { value, depth, members, repairs } = parseJson(text, true);
    if (repairs > most.repairs) return ["not_json", "too_complex"];
    if (depth > most.depth || members > most.members) return ["too_complex"];
    if (again && typeof value === "string" && value.trim().startsWith("{"))
      return objectIn(value.toWellFormed(), false);
    return value instanceof Map ? value : ["not_an_object"];
  } catch (error) {
    return error instanceof TooDeep ? ["too_complex", "not_json"] : ["not_json", "too_complex"];
  }
}

const isDocument = (bytes: Uint8Array) => objectIn(textOfBytes(bytes).text) instanceof Map;

/** A text as it is shown; undefined: there is none, null: it is no text. */
function textOf(value: Json | undefined, id: string | null): string | null | undefined {
  if (value === undefined || value === null) return undefined;
  if (value instanceof Written) return value.text;
  return typeof value === "string" ? withId(plain(value), id) : null;
}

/** A link as it can be followed. */
function linkOf(text: string): string {
  const link = text.trim();
  const isDrawing = /^<(svg|\?xml|!doctype|!--)/i.test(link) && /<svg[\s/>]/i.test(link);
  if (isDrawing) return `data:image/svg+xml;base64,${Buffer.from(link).toString("base64")}`;
  return /^%3c(svg|%3fxml)/i.test(link) ? `data:image/svg+xml,${link}` : link;
}

/** @param returned what the contract returned. @param id of ERC-1155, as 64 digits. */
export function expectedOf(world: World, returned: Uint8Array, id: string | null, base: string): Expected {
  if (64 + Math.ceil(returned.length / 32) * 32 > mostReturned)
    return { ...nothing, url: null, status: "FAILED", errors: ["call_too_large"] };
  const url = new TextDecoder("utf-8", { ignoreBOM: true }).decode(returned).split("\0").join("");
  const found = bytesAt(world, withId(url, id), isDocument);
  if ("errors" in found) return { ...nothing, url, status: "FAILED", errors: found.errors };
  const { text, whole } = textOfBytes(found.bytes);
  const document = objectIn(text);
  if (!(document instanceof Map)) return { ...nothing, url, status: "FAILED", errors: document };
  // NUL is in no text, nor in the name of a member.
  const members: JsonObject = new Map([...document].map(([name, value]) => [plain(name), value]));
  const warnings: string[] = [];
  if (!whole || (url.includes("\ufffd") && !Buffer.from(returned).includes("\ufffd")))
    warnings.push("metadata:undecodable");
  const texts = (["name", "description"] as const).map((member) => {
    const told = textOf(members.get(member), id);
    if (told === null) warnings.push(`${member}:not_a_text`);
    if (!told || told.length <= most.text) return told ?? null;
    warnings.push(`${member}:cut`);
    return told.slice(0, most.text).toWellFormed();
  });
  const link = (member: string, lost: string[]) => {
    const told = textOf(members.get(member), id);
    if (told === null) lost.push(`${member}:not_a_text`);
    const followed = linkOf(told ?? "");
    if (followed.length > most.link) lost.push(`${member}:too_large`);
    return followed.length > most.link ? "" : followed;
  };
  const animationUrl = link("animation_url", warnings) || null;
  const lost: string[] = [];
  const fileUrl = pictures.map((member) => link(member, lost)).find((one) => one !== "") ?? null;
  if (fileUrl === null) warnings.push(...lost);
  const { traits, warnings: ofTraits } = expectedTraits(members, id);
  return {
    ...{ status: "FRESH", url, errors: [], document, name: texts[0] ?? null, description: texts[1] ?? null },
    ...{ fileUrl, animationUrl, traits, warnings: [...warnings, ...ofTraits] },
    ...pictureAt(world, fileUrl, base),
    cachedAnimationUrl: copyOf(animationUrl === null ? { errors: [] } : bytesAt(world, animationUrl), base),
  };
}

function copyOf(found: Found, base: string): string | null {
  return "errors" in found || found.copy === null ? null : `${base}/${found.copy}`;
}

function pictureAt(
  world: World,
  link: string | null,
  base: string,
): Pick<Expected, "cachedFileUrl" | "fileInformation" | "pictureErrors"> {
  const none = { cachedFileUrl: null, fileInformation: null, pictureErrors: [] };
  if (link === null) return none;
  const found = bytesAt(world, link);
  if ("errors" in found) return { ...none, pictureErrors: found.errors };
  const cachedFileUrl = copyOf(found, base);
  const size = sizeOf(found.bytes);
  if (size === "no picture") return { ...none, cachedFileUrl, pictureErrors: ["not_media"] };
  // Of a file whose length nobody says 64 KB are read, and that is all that is known of it.
  if (size && found.measured === false && found.bytes.length > 65_536)
    return { ...none, cachedFileUrl, pictureErrors: ["size_unknown"] };
  const fileInformation = size && { ...size, sizeBytes: found.bytes.length };
  return { cachedFileUrl, fileInformation, pictureErrors: [] };
}
