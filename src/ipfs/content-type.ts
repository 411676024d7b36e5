import { MissingBlock } from "./block-reader.ts";
import type { ContentFile } from "./resolve-content.ts";
import { guessTextType, sniffedBytes, sniffType, typeOfName } from "./sniff-type.ts";

/**
 * The media type as which a file is served: that of its upload, else what its first bytes and its name say.
 *
 * @param name by which it is asked for; empty without one.
 */
export async function contentTypeOf(file: ContentFile, name: string): Promise<string> {
  if (file.contentType !== null) return file.contentType;
  let bytes: Uint8Array = new Uint8Array();
  try {
    bytes = await readHead(file, sniffedBytes);
  } catch (error) {
    // What is asked for may be a range behind it.
    if (!(error instanceof MissingBlock)) throw error;
  }
  return sniffType(bytes) ?? typeOfName(name) ?? guessTextType(bytes) ?? "application/octet-stream";
}

/** The first bytes of a file, fewer where it is shorter. @throws what reading it throws. */
export async function readHead(file: ContentFile, most: number): Promise<Uint8Array> {
  const head: Uint8Array[] = [];
  const length = Math.min(most, file.size);
  if (length > 0) for await (const chunk of file.stream({ offset: 0, length })) head.push(chunk);
  return Buffer.concat(head);
}
