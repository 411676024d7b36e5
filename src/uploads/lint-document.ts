import { parseIpfsUri } from "../metadata/read/ipfs-location.ts";
import { displayTypes } from "./upload-metadata.ts";

/** A property of a document that wallets and markets will have trouble with. The document is stored all the same. */
export interface Remark {
  /** A stable identifier for programs: `image_missing`. */
  rule: string;
  message: string;
  /** The value in question; shown with the first files. */
  found?: string;
}

/** The most traits and files that are checked: more than any document has. */
const [mostTraits, mostFiles] = [5_000, 1_000];

/** Valid beginnings of image links. Anything else is a file name in a folder that clients do not have. */
const links = /^(ipfs:\/\/.|https?:\/\/.|ar:\/\/.|data:[a-z]+\/)/i;

/** Checks one metadata document by the rules of OpenSea and others; none of them refuses it. */
export function lintDocument(document: Record<string, unknown>): Remark[] {
  const remarks: Remark[] = [];
  const add = (rule: string, message: string, found?: unknown) =>
    remarks.push({ rule, message, ...(found === undefined ? {} : { found: JSON.stringify(found).slice(0, 80) }) });
  const { name, description, image, attributes } = document;
  const { image_url: imageUrl, image_data: imageData, animation_url: animation } = document;
  if (name === undefined || name === "") add("name_missing", "there is no name");
  else if (typeof name !== "string") add("name_type", "name is not text", name);
  if (description === undefined) add("description_missing", "there is no description");
  else if (typeof description !== "string") add("description_type", "description is not text", description);
  if (image === undefined || image === "") {
    if (imageData === undefined && !imageUrl && !animation) add("image_missing", "there is no image");
  } else if (typeof image !== "string") add("image_type", "image is not text", image);
  else lintLink(add, "image", image);
  for (const uri of filesOf(document)) if (isUnfilled(uri)) addUnfilled(add, "file", uri);
  if (typeof animation === "string") lintLink(add, "animation_url", animation);
  else if (animation !== undefined && animation !== null) {
    add("animation_url_type", "animation_url is not text", animation);
  }
  if (Array.isArray(attributes)) for (const trait of attributes.slice(0, mostTraits)) lintTrait(add, trait);
  else if (attributes !== undefined) add("attributes_type", "attributes is not a list", attributes);
  return remarks;
}

type Add = (rule: string, message: string, found?: unknown) => void;

function lintLink(add: Add, member: string, link: string): void {
  if (!links.test(link)) add(`${member}_link`, `${member} is not a link (ipfs://…, https://…)`, link);
  else if (isUnfilled(link)) addUnfilled(add, member, link);
  else if (/^http:/i.test(link)) add(`${member}_insecure`, `${member} is an http: link, which browsers refuse`, link);
}

function isUnfilled(link: string): boolean {
  return /^ipfs:/i.test(link) && !parseIpfsUri(link);
}

function addUnfilled(add: Add, member: string, link: string): void {
  add(`${member}_unfilled`, `${member} is an ipfs: link without a CID: a placeholder that nothing replaced`, link);
}

/** The links in `properties.files`. */
export function filesOf({ properties }: Record<string, unknown>): string[] {
  const files = (properties as { files?: unknown } | null | undefined)?.files;
  const uris = Array.isArray(files) ? files.slice(0, mostFiles).map((one: { uri?: unknown } | null) => one?.uri) : [];
  return uris.filter((uri) => typeof uri === "string");
}

function lintTrait(add: Add, trait: unknown): void {
  if (trait === null || typeof trait !== "object" || Array.isArray(trait)) {
    add("trait_type", "an attribute is not an object", trait);
    return;
  }
  const { trait_type: type, value, display_type: display, max_value: max } = trait as Record<string, unknown>;
  if (type !== undefined && typeof type !== "string") add("trait_name_type", "a trait_type is not text", type);
  if (value === undefined || value === null) add("trait_value_missing", "an attribute has no value", type);
  else if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
    add("trait_value_type", "the value of an attribute is neither text nor a number", value);
  }
  if (display !== undefined && display !== null && display !== "string") {
    if (!displayTypes.some((known) => known === display)) {
      add("display_type_unknown", `a display_type is none of ${displayTypes.join(", ")}`, display);
    } else if (typeof value === "string") {
      add("display_value_type", "an attribute with a display_type has a value that is no number", value);
    }
  }
  if (max !== undefined && max !== null && typeof max !== "number") {
    add("max_value_type", "a max_value is not a number", max);
  }
}
