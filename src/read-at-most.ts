/**
 * Collects a body of at most `maxBytes`.
 *
 * @param tooLarge the error for one that is longer; the rest of that is not read.
 */
export async function readAtMost(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  tooLarge: () => Error,
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > maxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** @returns the text of an answer. @throws see `readAtMost`. */
export async function readText({ body }: Response, maxBytes: number, tooLarge: () => Error): Promise<string> {
  if (!body) return "";
  return (await readAtMost(body as AsyncIterable<Uint8Array>, maxBytes, tooLarge)).toString("utf8");
}
