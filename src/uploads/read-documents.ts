import type { Services } from "../services.ts";
import type { Upload } from "./upload-record.ts";

/** Of all documents of one answer together. */
const largestBytes = 16 * 1_048_576;

/**
 * The stored text of each metadata document among the uploads, by CID.
 *
 * Bounded in memory: the documents after the first 16 MiB are left out, as are those whose bytes cannot
 * be read at present: one lost file must not hide the whole list.
 */
export async function readDocuments(services: Services, uploads: readonly Upload[]): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  let room = largestBytes;
  for (const { kind, cid, sizeBytes } of uploads) {
    if (kind !== "metadata" || texts.has(cid) || sizeBytes > room) continue;
    const bytes = await services.content.readBlock(cid).catch((error: unknown) => {
      services.logOnce.write("error", `document ${cid}`, { err: error, cid }, "a stored document cannot be read");
      return null;
    });
    if (!bytes) continue;
    room -= bytes.length;
    texts.set(cid, Buffer.from(bytes).toString("utf8"));
  }
  return texts;
}
