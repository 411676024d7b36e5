import type { ContentDirectory, ContentFile } from "../ipfs/content-store.ts";
import type { DagScope } from "../ipfs/export-car.ts";
import { guessTextType, sniffedBytes, sniffType, typeOfName } from "../ipfs/sniff-type.ts";
import type { Services } from "../services.ts";

export type ReadFile = ContentFile & { contentType: string };

/** `index` is the page that a directory brings with it. */
export type ReadContent = ReadFile | (ContentDirectory & { index: ReadFile | null });

/**
 * Reads what is public by its CID: everything that was uploaded here, and what others have where the operator wants that.
 *
 * @param path plain segments, not URL-encoded.
 * @returns null for content that is not here, and for a text that is no CID.
 */
export async function readContent(
  services: Services,
  cid: string,
  path: readonly string[],
): Promise<ReadContent | null> {
  const content = await services.content.resolveAnywhere(cid, path);
  if (content?.kind === "file") return await withType(content, path.at(-1) ?? "");
  if (!content) return null;
  const name = "index.html";
  const index = await services.content.resolveAnywhere(cid, [...path, name]);
  return { ...content, index: index?.kind === "file" ? await withType(index, name) : null };
}

async function withType(file: ContentFile, name: string): Promise<ReadFile> {
  return { ...file, contentType: file.contentType ?? (await guessType(file, name)) };
}

/** One block as it is, for clients that check hashes themselves; null when it is not here. */
export async function readBlock(services: Services, cid: string): Promise<Uint8Array | null> {
  return await services.content.readBlock(cid);
}

export type { DagScope } from "../ipfs/export-car.ts";

/** Content as a CAR file, for clients that check hashes themselves; null when it is not here. */
export async function readCar(
  services: Services,
  cid: string,
  path: readonly string[],
  scope: DagScope,
): Promise<AsyncIterable<Uint8Array> | null> {
  return await services.content.exportCar(cid, path, scope);
}

async function guessType(file: ContentFile, name: string): Promise<string> {
  const head: Uint8Array[] = [];
  const length = Math.min(sniffedBytes, file.size);
  if (length > 0) for await (const chunk of file.stream({ offset: 0, length })) head.push(chunk);
  const bytes = Buffer.concat(head);
  return sniffType(bytes) ?? typeOfName(name) ?? guessTextType(bytes) ?? "application/octet-stream";
}
