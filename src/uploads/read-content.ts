import { contentTypeOf, readHead } from "../ipfs/content-type.ts";
import { convertBlock, type DocumentFormat } from "../ipfs/documents.ts";
import { motionBytes, motionOf } from "../ipfs/motion.ts";
import { parseCid } from "../ipfs/parse-cid.ts";
import { type ContentDirectory, type ContentFile, isReadable } from "../ipfs/resolve-content.ts";
import type { Services } from "../services.ts";

export type ReadFile = ContentFile & { contentType: string };

/** `index` is the directory's index page. */
export type ReadContent = ReadFile | (ContentDirectory & { index: ReadFile | null });

/**
 * Reads public content by its CID: all that was uploaded here, and that of others where the operator allows it.
 *
 * @param path plain segments, not URL-encoded.
 * @param onlyHere whether to leave out content of others.
 * @returns null for content that is not here, and for a text that is no CID.
 */
export async function readContent(
  services: Services,
  cid: string,
  path: readonly string[],
  onlyHere = false,
): Promise<ReadContent | null> {
  const read = (path: readonly string[]) =>
    onlyHere ? services.content.resolve(cid, path) : services.content.resolveAnywhere(cid, path);
  const content = await read(path);
  if (content?.kind === "file") return await withType(content, path.at(-1) ?? "");
  if (!content) return null;
  const name = "index.html";
  const index = await read([...path, name]);
  return { ...content, index: index?.kind === "file" ? await withType(index, name) : null };
}

async function withType(file: ContentFile, name: string): Promise<ReadFile> {
  return { ...file, contentType: await contentTypeOf(file, name) };
}

/** Whether a file is a video or an animated picture. @param name of the request. @throws what reading it throws. */
export async function moves(file: ContentFile, name: string): Promise<boolean> {
  return motionOf(await contentTypeOf(file, name), await readHead(file, motionBytes)) !== null;
}

/** A CID of any multibase in its one spelling, and whether its codec is one that `readContent` reads; null for other texts. */
export function readCid(text: string): { cid: string; isReadable: boolean } | null {
  const cid = parseCid(text);
  return cid && { cid: cid.toString(), isReadable: isReadable(cid) };
}

/** The data of one block in another format; null for a block that is not here. */
export async function convertContent(
  services: Services,
  text: string,
  format: DocumentFormat,
): Promise<Uint8Array | "too_large" | "invalid" | null> {
  const cid = parseCid(text);
  const block = cid && (await services.content.readBlock(text));
  return cid && block && convertBlock(cid, block, format);
}
