/** A message in the pipes between the service and the decoding process: a number, and bytes. */
export interface Frame {
  word: number;
  bytes: Buffer;
}

/** Values of `word` in frames from the process. In frames from the service it is a width. */
export const answers = { ready: 0, made: 1, refused: 2 } as const;

const headerBytes = 8;

/** The header before the bytes of a frame. */
export function frameHeader(word: number, length: number): Buffer {
  const header = Buffer.allocUnsafe(headerBytes);
  header.writeUInt32BE(word, 0);
  header.writeUInt32BE(length, 4);
  return header;
}

/**
 * Reads frames until the stream ends; an incomplete last frame is dropped.
 *
 * @throws Error for a frame of more than `most` bytes.
 */
export async function* readFrames(stream: AsyncIterable<Buffer>, most: number): AsyncGenerator<Frame> {
  let pieces: Buffer[] = [];
  let size = 0;
  let header: Buffer | null = null;
  const take = (length: number): Buffer => {
    const all = pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces, size);
    pieces = [all.subarray(length)];
    size -= length;
    return all.subarray(0, length);
  };
  for await (const piece of stream) {
    pieces.push(piece);
    size += piece.length;
    for (;;) {
      if (!header) {
        if (size < headerBytes) break;
        header = take(headerBytes);
      }
      const length = header.readUInt32BE(4);
      if (length > most) throw new Error(`a frame of ${length} bytes; ${most} are the most`);
      if (size < length) break;
      yield { word: header.readUInt32BE(0), bytes: take(length) };
      header = null;
    }
  }
}
