import { join } from "node:path";
import type { ServiceClient } from "../service-client.ts";
import { filesToUpload } from "./check-artwork.ts";
import { ContentReader } from "./content-id.ts";
import type { Artwork } from "./read-folder.ts";
import type { Reporter } from "./reporter.ts";
import type { Settings } from "./settings.ts";
import { directoryOf, placeholderOf, warnOfDocuments } from "./upload-documents.ts";

/** URIs of a launch's documents and placeholder. */
export interface Uris {
  base: string;
  placeholder: string | null;
}

/** The URIs that an upload would give. The documents are sent for a check and not stored; other files are not sent. */
export async function planUris(
  folder: string,
  settings: Settings,
  artwork: Artwork,
  { client, reporter }: { client: ServiceClient; reporter: Reporter },
  strict: boolean,
): Promise<Uris> {
  const reader = new ContentReader();
  const cids = new Map<string, string>();
  for (const path of filesToUpload(artwork.tokens)) cids.set(path, (await reader.read(join(folder, path))).cid);
  const { files } = await directoryOf(folder, artwork, cids);
  const { uri, warnings } = await client.planDirectory(files);
  warnOfDocuments(warnings, artwork.tokens, reporter, strict);
  const placeholder = await placeholderOf(folder, settings);
  const shown = placeholder ? `ipfs://${reader.ofText(placeholder.text)}` : null;
  reporter.step("planned", `nothing is uploaded; the metadata will be at ${uri}`, { baseUri: uri, placeholder: shown });
  return { base: uri, placeholder: shown };
}
