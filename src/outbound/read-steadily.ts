const graceMs = 2_000;
const leastBytesPerSecond = 1_024;

/** A server that keeps a connection busy with next to nothing. */
export class TooSlow extends Error {
  override readonly name = "TooSlow";
}

/**
 * Collects a stream up to `maxBytes`; what lies beyond is not read.
 *
 * @param control aborted with `TooSlow` when the stream brings less than 1 KiB a second.
 */
export async function readSteadily(
  stream: AsyncIterable<Uint8Array>,
  maxBytes: number,
  control?: AbortController,
): Promise<{ bytes: Uint8Array; whole: boolean }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const started = performance.now();
  const watch = setInterval(() => {
    const lateMs = performance.now() - started - graceMs;
    if (size < (lateMs / 1_000) * leastBytesPerSecond) control?.abort(new TooSlow());
  }, 500);
  try {
    for await (const chunk of stream) {
      size += chunk.byteLength;
      chunks.push(chunk);
      if (size > maxBytes) return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), whole: false };
    }
    return { bytes: Buffer.concat(chunks), whole: true };
  } finally {
    clearInterval(watch);
  }
}
