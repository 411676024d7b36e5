import { open, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { imageSize } from "image-size";
import { imageSizeFromFile } from "image-size/fromFile";
import { describeFault, type FileFault, findBrokenData, findFileFault } from "../../src/uploads/whole-file.ts";
import { CommandError } from "../command-error.ts";
import { type Artwork, listed, readDocument, type Token } from "./read-folder.ts";
import { type Settings, settingsFile } from "./settings.ts";

export interface Findings {
  /** Faults with which the launch cannot begin. */
  errors: string[];
  /** Legal, but probably not meant; `--strict` refuses them. */
  warnings: string[];
}

const noPicture = /\.(mp4|webm|mov|mp3|wav|ogg|oga|ogv|m4a|m4v|flac|glb|gltf|html?|pdf|json|txt|css|js)$/i;

/**
 * Checks every file before anything is uploaded: numbers, names, pictures, attributes.
 *
 * @param largestBytes largest file that the service accepts.
 */
export async function checkArtwork(
  folder: string,
  artwork: Artwork,
  settings: Settings,
  largestBytes: number,
): Promise<Findings> {
  const errors = [...checkNumbers(artwork, settings), ...firsts(artwork.faults)];
  const warnings: string[] = [];
  if (artwork.firstNumber === 1)
    warnings.push("documents are numbered from 1 and token ids from 0: 1.json becomes token 0");
  if (artwork.leftOut.length > 0) warnings.push(`left out, no part of a token: ${listed(artwork.leftOut)}`);
  if (artwork.unused.length > 0) warnings.push(`pictures that no document names: ${listed(artwork.unused)}`);
  warnings.push(...firsts(artwork.doubts));
  await checkFiles(folder, await sizesOf(folder, artwork, settings, errors), largestBytes, { errors, warnings });
  await checkPlaceholder(folder, settings, errors);
  const data: string[] = [];
  await checkDocuments(folder, artwork, warnings, data);
  return { errors: [...errors, ...firsts(data)], warnings };
}

/** All files to upload, with their sizes. */
async function sizesOf(
  folder: string,
  { tokens, media }: Artwork,
  { placeholder, reveal }: Settings,
  errors: string[],
): Promise<Map<string, number>> {
  const sizes = new Map(filesToUpload(tokens).map((path) => [path, media.get(path) ?? 0]));
  const image = reveal === "later" ? placeholder?.image : undefined;
  if (image === undefined) return sizes;
  const found = await stat(join(folder, image)).catch(() => null);
  if (found?.isFile()) sizes.set(image, found.size);
  else errors.push(`${settingsFile}: the placeholder names ${image}, which is no file of the folder`);
  return sizes;
}

/** Checks that it is a picture: a name proves nothing, and whatever the file is, everybody would see it. */
async function checkPlaceholder(folder: string, { placeholder, reveal }: Settings, errors: string[]): Promise<void> {
  const image = reveal === "later" ? placeholder?.image : undefined;
  // Other names are checked along with the other files.
  if (image === undefined || !noPicture.test(image)) return;
  if ((await typeOf(join(folder, image)).catch(() => "")) === null)
    errors.push(`${settingsFile}: the placeholder names ${image}, which is no picture`);
}

function firsts(texts: readonly string[], most = 20): string[] {
  return texts.length > most ? [...texts.slice(0, most), `and ${texts.length - most} more of that kind`] : [...texts];
}

/** @throws CommandError when the launch cannot begin. */
export function refuseFindings({ errors, warnings }: Findings, strict: boolean): void {
  const refused = strict ? [...errors, ...warnings] : errors;
  if (refused.length === 0) return;
  throw new CommandError(
    `the folder has faults; nothing was uploaded\n${refused.map((text) => `  ${text}`).join("\n")}`,
  );
}

function checkNumbers({ metadata, tokens, firstNumber }: Artwork, { maxSupply, reserve }: Settings): string[] {
  const errors: string[] = [];
  if (tokens.length === 0) return [`${metadata}: there is no document of a token, such as 0.json`];
  const present = new Map(tokens.map(({ tokenId, document }) => [tokenId, document]));
  const last = tokens.at(-1)?.tokenId ?? 0;
  const gaps = Array.from({ length: Math.min(last, 1_000_000) }, (_, id) => id).filter((id) => !present.has(id));
  const shown = gaps.map((id) => `${id + (firstNumber === 1 ? 1 : 0)}.json`);
  if (gaps.length > 0) errors.push(`documents are missing: ${listed(shown)}`);
  for (const { tokenId, document } of tokens)
    if (present.get(tokenId) !== document) errors.push(`${document} and ${present.get(tokenId)} have the same number`);
  if (maxSupply !== undefined && maxSupply !== tokens.length)
    errors.push(`${settingsFile}: maxSupply is ${maxSupply}, but there are ${tokens.length} documents`);
  if (reserve > tokens.length)
    errors.push(`${settingsFile}: reserve is ${reserve}, more than the ${tokens.length} tokens`);
  return errors;
}

async function checkFiles(
  folder: string,
  sizes: ReadonlyMap<string, number>,
  largestBytes: number,
  { errors, warnings }: Findings,
): Promise<void> {
  const unreadable: string[] = [];
  const hidden: string[] = [];
  const rare: string[] = [];
  for (const [path, size] of sizes) {
    if (size === 0) errors.push(`${path} is empty`);
    else if (size > largestBytes) errors.push(`${path} has ${size} bytes; the service takes ${largestBytes}`);
    else {
      const type = noPicture.test(path) ? "" : await typeOf(join(folder, path));
      const fault = type === null ? null : await faultOf(join(folder, path), size);
      if (type === null) unreadable.push(path);
      else if (fault) errors.push(`${path} ${describeFault(fault)}`);
      else if (shownNowhere.test(type)) hidden.push(path);
      else if (shownBySome.test(type)) rare.push(path);
    }
  }
  if (unreadable.length > 0) errors.push(`pictures that cannot be read: ${listed(unreadable)}`);
  if (hidden.length > 0) errors.push(`pictures of a kind that no browser shows: ${listed(hidden)}`);
  if (rare.length > 0) warnings.push(`pictures of a kind that most browsers do not show: ${listed(rare)}`);
}

async function faultOf(path: string, size: number): Promise<FileFault | null> {
  const file = await open(path);
  try {
    return await findFileFault(path, size, async (start, length) => {
      const { buffer, bytesRead } = await file.read(
        Buffer.allocUnsafe(Math.min(length, size)),
        0,
        null,
        Math.max(start, 0),
      );
      return buffer.subarray(0, bytesRead);
    });
  } finally {
    await file.close();
  }
}

const shownNowhere = /^(psd|dds|icns|ktx|pnm|tga)$/;
const shownBySome = /^(tiff|hei[cf]|j2c|jp2|jxl.*)$/;

/** A picture's kind; null if it is not a picture. */
async function typeOf(path: string): Promise<string | null> {
  const found = ({ width, height, type = "" }: { width: number; height: number; type?: string | undefined }) =>
    width > 0 && height > 0 ? type : null;
  const atOnce = await imageSizeFromFile(path).then(found, () => null);
  if (atOnce !== null) return atOnce;
  // The size may come after half a megabyte of other data; an SVG need not have one.
  const bytes = await readFile(path);
  if (/^\ufeff?\s*(<\?xml[^>]*>|<!--.*?-->|<!DOCTYPE[^>]*>|\s)*<svg[\s>]/is.test(bytes.toString("utf8", 0, 65_536)))
    return "svg";
  try {
    return found(imageSize(bytes));
  } catch {
    return null;
  }
}

async function checkDocuments(folder: string, artwork: Artwork, warnings: string[], errors: string[]): Promise<void> {
  const without = { name: [] as string[], attributes: [] as string[] };
  for (const token of artwork.tokens) {
    const text = await readDocument(folder, token.document);
    const document = JSON.parse(text) as Record<string, unknown>;
    if (typeof document["name"] !== "string" || document["name"] === "") without.name.push(token.document);
    if (!hasTraits(document["attributes"])) without.attributes.push(token.document);
    errors.push(...(await findBrokenData(text)).map((fault) => `${token.document}: ${fault}`));
  }
  if (without.name.length > 0) warnings.push(`no name in ${listed(without.name)}`);
  if (without.attributes.length > 0)
    warnings.push(`attributes are missing or no list of trait_type and value in ${listed(without.attributes)}`);
}

function hasTraits(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every((trait) => typeof trait === "object" && trait !== null && "trait_type" in trait && "value" in trait)
  );
}

/** The files to upload, each once, in the order of the tokens. */
export function filesToUpload(tokens: readonly Token[]): string[] {
  return [...new Set(tokens.flatMap(({ files }) => files))];
}
