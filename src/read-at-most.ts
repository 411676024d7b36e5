/**
 * Collects a stream until there is enough; the rest is not read.
 *
 * @param isEnough is called with the number of bytes after each piece.
 */
export async function collectUntil(
  stream: AsyncIterable<Uint8Array>,
  isEnough: (size: number) => boolean,
): Promise<Buffer<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop ends the stream.
  for await (const piece of stream) {
    pieces.push(piece);
    size += piece.byteLength;
    if (isEnough(size)) break;
  }
  return Buffer.concat(pieces, size);
}

/**
 * Collects a body of at most `maxBytes`.
 *
 * @param tooLarge the error for a longer body, the rest of which is not read.
 */
export async function readAtMost(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  tooLarge: () => Error,
): Promise<Buffer<ArrayBuffer>> {
  return await collectUntil(body, (size) => {
    if (size > maxBytes) throw tooLarge();
    return false;
  });
}

/** @returns a response's text. @throws see `readAtMost`. */
export async function readText({ body }: Response, maxBytes: number, tooLarge: () => Error): Promise<string> {
  if (!body) return "";
  return (await readAtMost(body as AsyncIterable<Uint8Array>, maxBytes, tooLarge)).toString("utf8");
}
