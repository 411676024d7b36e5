import { join } from "node:path";
import { imageSizeFromFile } from "image-size/fromFile";
import { CommandError } from "../command-error.ts";
import { type Artwork, listed, readDocument, type Token } from "./read-folder.ts";
import type { Settings } from "./settings.ts";

export interface Findings {
  /** The launch cannot begin. */
  errors: string[];
  /** Legal, but probably not meant; `--strict` refuses them. */
  warnings: string[];
}

/** One picture may have 20 MiB, unless the service's operator allows more. */
const largestImageBytes = 20 * 1_048_576;
const video = /\.(mp4|webm|mov|mp3|wav|glb|gltf|html)$/i;

/** Looks at every file before anything is uploaded: numbers, names, pictures, attributes. */
export async function checkArtwork(folder: string, artwork: Artwork, settings: Settings): Promise<Findings> {
  const errors = checkNumbers(artwork, settings);
  const warnings: string[] = [];
  if (artwork.firstNumber === 1)
    warnings.push("documents are numbered from 1 and token ids from 0: 1.json becomes token 0");
  if (artwork.unused.length > 0) warnings.push(`pictures that no document names: ${listed(artwork.unused)}`);
  await checkImages(folder, artwork, errors);
  await checkDocuments(folder, artwork, errors, warnings);
  return { errors, warnings };
}

/** @throws CommandError when the launch cannot begin. */
export function refuseFindings({ errors, warnings }: Findings, strict: boolean): void {
  const refused = strict ? [...errors, ...warnings] : errors;
  if (refused.length === 0) return;
  throw new CommandError(
    `the folder has faults; nothing was uploaded\n${refused.map((text) => `  ${text}`).join("\n")}`,
  );
}

function checkNumbers({ tokens, firstNumber }: Artwork, { maxSupply, reserve }: Settings): string[] {
  const errors: string[] = [];
  if (tokens.length === 0) return ["there is no document of a token"];
  const present = new Set(tokens.map(({ tokenId }) => tokenId));
  const last = tokens.at(-1)?.tokenId ?? 0;
  const gaps = Array.from({ length: Math.min(last, 1_000_000) }, (_, id) => id).filter((id) => !present.has(id));
  const shown = gaps.map((id) => `${id + (firstNumber === 1 ? 1 : 0)}.json`);
  if (gaps.length > 0) errors.push(`documents are missing: ${listed(shown)}`);
  if (present.size < tokens.length) errors.push("two documents have the same number");
  if (maxSupply !== undefined && maxSupply !== tokens.length)
    errors.push(`maxSupply is ${maxSupply}, but there are ${tokens.length} documents`);
  if (reserve > tokens.length) errors.push(`reserve is ${reserve}, more than the ${tokens.length} tokens`);
  return errors;
}

async function checkImages(folder: string, { tokens, images }: Artwork, errors: string[]): Promise<void> {
  const unreadable: string[] = [];
  for (const path of new Set(tokens.flatMap(({ image }) => (image === null ? [] : [image])))) {
    const size = images.get(path) ?? 0;
    if (size === 0) errors.push(`${path} is empty`);
    else if (size > largestImageBytes) errors.push(`${path} has ${size} bytes, over ${largestImageBytes}`);
    else if (!video.test(path) && !(await isReadable(join(folder, path)))) unreadable.push(path);
  }
  if (unreadable.length > 0) errors.push(`pictures that cannot be read: ${listed(unreadable)}`);
}

async function isReadable(path: string): Promise<boolean> {
  return await imageSizeFromFile(path).then(
    ({ width, height }) => width > 0 && height > 0,
    () => false,
  );
}

async function checkDocuments(folder: string, artwork: Artwork, errors: string[], warnings: string[]): Promise<void> {
  const without = { image: [] as string[], name: [] as string[], attributes: [] as string[] };
  for (const token of artwork.tokens) {
    const document = await readDocument(folder, token.document);
    if (token.image === null && !isLink(document["image"])) without.image.push(token.document);
    if (typeof document["name"] !== "string" || document["name"] === "") without.name.push(token.document);
    if (!hasTraits(document["attributes"])) without.attributes.push(token.document);
  }
  if (without.image.length > 0) errors.push(`no picture belongs to ${listed(without.image)}`);
  if (without.name.length > 0) warnings.push(`no name in ${listed(without.name)}`);
  if (without.attributes.length > 0)
    warnings.push(`attributes are missing or no list of trait_type and value in ${listed(without.attributes)}`);
}

function isLink(value: unknown): boolean {
  return typeof value === "string" && /^[a-z]+:/.test(value);
}

function hasTraits(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every((trait) => typeof trait === "object" && trait !== null && "trait_type" in trait && "value" in trait)
  );
}

/** What is uploaded, each picture once, in the order of the tokens. */
export function imagesToUpload(tokens: readonly Token[]): string[] {
  return [...new Set(tokens.flatMap(({ image }) => (image === null ? [] : [image])))];
}
