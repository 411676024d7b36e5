import { MissingBlock } from "./block-reader.ts";
import type { ContentFile } from "./resolve-content.ts";
import { guessTextType, sniffedBytes, sniffType, typeOfName } from "./sniff-type.ts";

/**
 * The media type of an answer: that of the file's upload, or else what its first bytes and its name suggest.
 *
 * @param name the last name of the requested path; empty without one.
 */
export async function contentTypeOf(file: ContentFile, name: string): Promise<string> {
  if (file.contentType !== null) return file.contentType;
  let bytes: Uint8Array = new Uint8Array();
  try {
    bytes = await readHead(file, sniffedBytes);
  } catch (error) {
    // The requested range may lie behind the missing block.
    if (!(error instanceof MissingBlock)) throw error;
  }
  return sniffType(bytes) ?? typeOfName(name) ?? guessTextType(bytes) ?? "application/octet-stream";
}

/** The first bytes of a file, fewer if it is shorter. @throws what reading it throws. */
export async function readHead(file: ContentFile, most: number): Promise<Uint8Array> {
  const head: Uint8Array[] = [];
  const length = Math.min(most, file.size);
  if (length > 0) for await (const chunk of file.stream({ offset: 0, length })) head.push(chunk);
  return Buffer.concat(head);
}
