import { basename, join } from "node:path";
import { findFileNames, linkFiles, linkOf } from "../../src/uploads/document-files.ts";
import { CommandError } from "../command-error.ts";
import { RefusedError, type ServiceClient, type StoredDirectory } from "../service-client.ts";
import { ContentReader, sha256Of } from "./content-id.ts";
import type { Journal } from "./journal.ts";
import { type Artwork, listed, readDocument, type Token } from "./read-folder.ts";
import { refuseChanged } from "./refuse-changed.ts";
import type { Reporter } from "./reporter.ts";
import type { Settings } from "./settings.ts";

interface Parts {
  client: ServiceClient;
  journal: Journal;
  reporter: Reporter;
}

/**
 * Uploads all documents as one directory, each with the links of its files.
 *
 * @returns the base URI, `ipfs://…/`.
 * @param strict treats the service's warnings as errors.
 * @throws CommandError for documents that changed since their upload, and for links to content that the service knows
 * is absent.
 */
export async function uploadDocuments(
  folder: string,
  artwork: Artwork,
  cids: ReadonlyMap<string, string>,
  { client, journal, reporter }: Parts,
  strict: boolean,
): Promise<string> {
  const { files, documents } = await directoryOf(folder, artwork, cids);
  const known = journal.last("directory");
  if (known) {
    const names = new Set([...Object.keys(known.documents), ...Object.keys(documents)]);
    refuseChanged(
      [...names].filter((name) => known.documents[name] !== documents[name]),
      journal,
    );
    return known.uri;
  }
  const inFolder = namesInFolder(artwork.tokens);
  const { uri, warnings } = await client.uploadDirectory(files).catch((error: unknown) => {
    throw error instanceof RefusedError ? new RefusedError(error.code, inFolder(error.message)) : error;
  });
  warnOfDocuments(warnings, artwork.tokens, reporter, strict);
  journal.write({ step: "directory", uri, documents });
  return uri;
}

/** The directory to upload, and a prefix of each document's SHA-256 by its path. */
export async function directoryOf(
  folder: string,
  artwork: Artwork,
  cids: ReadonlyMap<string, string>,
): Promise<{ files: Map<string, string>; documents: Record<string, string> }> {
  const files = new Map<string, string>();
  const documents: Record<string, string> = {};
  for (const token of artwork.tokens) {
    const { tokenId, document } = token;
    const text = await linkedDocument(folder, artwork, token, cids);
    files.set(`${tokenId}.json`, text);
    documents[document] = sha256Of(text).slice(0, 20);
  }
  return { files, documents };
}

/** @throws CommandError for anything that readers would not see, and in strict mode for any warning. */
export function warnOfDocuments(
  warnings: StoredDirectory["warnings"],
  tokens: readonly Token[],
  reporter: Reporter,
  strict: boolean,
): void {
  const inFolder = namesInFolder(tokens);
  for (const { message, count, examples } of warnings)
    reporter.warn(`${message}: ${inFolder(listed(examples))}${count > examples.length ? ` (${count} in all)` : ""}`);
  const dead = warnings.find(({ rule }) => /^image_dead$|_unfilled$/.test(rule));
  if (dead) throw new CommandError(`${dead.message}: ${inFolder(listed(dead.examples))}; nothing was paid`);
  if (strict && warnings.length > 0) throw new CommandError("the documents have warnings; nothing was paid");
}

/** Translates the service's `0.json` back, which is `metadata/1.json` in a folder that counts from 1. */
function namesInFolder(tokens: readonly Token[]): (text: string) => string {
  const documents = new Map(tokens.map(({ tokenId, document }) => [`${tokenId}.json`, document]));
  return (text) => text.replace(/(?<![\w./])\d+\.json\b/g, (name) => documents.get(name) ?? name);
}

/** A token's document, unchanged but for the links of its files. */
export async function linkedDocument(
  folder: string,
  artwork: Artwork,
  token: Pick<Token, "document">,
  cids: ReadonlyMap<string, string>,
): Promise<string> {
  const { document } = token;
  const text = await readDocument(folder, document);
  return linkFiles(text, findFileNames(text).names, (name) => {
    const path = artwork.fileOf(token, name) ?? "";
    const cid = cids.get(path);
    if (cid) return linkOf(cid, name, path);
    throw new CommandError(`${document} changed meanwhile; leave the folder alone and start again`);
  });
}

/** The document that every token shows before the reveal; null: none. */
export async function placeholderOf(folder: string, { placeholder, reveal }: Settings) {
  if (!placeholder || reveal === "now") return null;
  const { image, ...document } = placeholder;
  const picture = image ? await new ContentReader().read(join(folder, image)) : null;
  return { image, picture, text: JSON.stringify(picture ? { ...document, image: `ipfs://${picture.cid}` } : document) };
}

/** Uploads the document that every token shows before the reveal. @returns its URI; null when there is none. */
export async function uploadPlaceholder(folder: string, settings: Settings, parts: Parts): Promise<string | null> {
  const made = await placeholderOf(folder, settings);
  if (!made) return null;
  const { client, journal } = parts;
  const { image, picture, text } = made;
  const sha256 = sha256Of(text);
  const known = journal.last("placeholder");
  if (known?.sha256 === sha256) return known.uri;
  if (image && picture && !journal.all("file").some((file) => file.sha256 === picture.sha256)) {
    const cid = await client.uploadFile(join(folder, image), basename(image));
    if (cid !== picture.cid) throw new CommandError(`${image} changed while it was uploaded; start again`);
    journal.write({ step: "file", path: image, ...picture });
  }
  const uri = `ipfs://${await client.uploadJson(text, "placeholder.json")}`;
  journal.write({ step: "placeholder", sha256, uri });
  return uri;
}
