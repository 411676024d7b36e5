import { join } from "node:path";
import { CommandError } from "../command-error.ts";
import type { ServiceClient } from "../service-client.ts";
import { ContentReader, sha256Of } from "./content-id.ts";
import type { Journal } from "./journal.ts";
import { type Artwork, readDocument } from "./read-folder.ts";
import { refuseChanged } from "./refuse-changed.ts";
import type { Settings } from "./settings.ts";

interface Parts {
  client: ServiceClient;
  journal: Journal;
}

/**
 * Uploads all documents as one directory, each with the link of its picture.
 *
 * @returns the base URI, `ipfs://…/`.
 * @throws CommandError for documents that changed since they were uploaded; their names are in it.
 */
export async function uploadDocuments(
  folder: string,
  artwork: Artwork,
  cids: ReadonlyMap<string, string>,
  { client, journal }: Parts,
): Promise<string> {
  const files = new Map<string, string>();
  const documents: Record<string, string> = {};
  for (const { tokenId, document, image } of artwork.tokens) {
    const content = await readDocument(folder, document);
    const text = JSON.stringify({ ...content, ...(image === null ? {} : { image: `ipfs://${cids.get(image)}` }) });
    files.set(`${tokenId}.json`, text);
    documents[document] = sha256Of(text).slice(0, 20);
  }
  const known = journal.last("directory");
  if (known) {
    const names = new Set([...Object.keys(known.documents), ...Object.keys(documents)]);
    refuseChanged(
      [...names].filter((name) => known.documents[name] !== documents[name]),
      journal,
    );
    return known.uri;
  }
  const uri = await client.uploadDirectory(files);
  journal.write({ step: "directory", uri, documents });
  return uri;
}

/** Uploads what every token shows before the reveal. @returns its URI; null when there is none. */
export async function uploadPlaceholder(folder: string, settings: Settings, parts: Parts): Promise<string | null> {
  const { placeholder } = settings;
  if (!placeholder || settings.reveal === "now") return null;
  const { client, journal } = parts;
  const { image, ...document } = placeholder;
  const picture = image ? await new ContentReader().read(join(folder, image)) : null;
  const text = JSON.stringify(picture ? { ...document, image: `ipfs://${picture.cid}` } : document);
  const sha256 = sha256Of(text);
  const known = journal.last("placeholder");
  if (known?.sha256 === sha256) return known.uri;
  if (image && picture && !journal.all("file").some((file) => file.sha256 === picture.sha256)) {
    const cid = await client.uploadFile(join(folder, image), image);
    if (cid !== picture.cid) throw new CommandError(`${image} changed while it was uploaded; start again`);
    journal.write({ step: "file", path: image, ...picture });
  }
  const uri = `ipfs://${await client.uploadJson(text, "placeholder.json")}`;
  journal.write({ step: "placeholder", sha256, uri });
  return uri;
}
