/** Smaller buffers are cheaper to allocate than to keep. */
const shortest = 16_384;
/** Larger buffers are allocated for one use. */
const longest = 1_048_576;
/** Bytes kept while unused. */
const mostKept = 16 * 1_048_576;

/**
 * Buffers for data that is made and sent thousands of times a second. Memory outside the heap costs page faults when it
 * is allocated, and makes the garbage collector run long before the heap is full.
 *
 * The user of a buffer returns it once nothing reads it any more, or never: then it is garbage-collected.
 */
export class BufferPool {
  /** By length: powers of two. */
  readonly #free = new Map<number, ArrayBuffer[]>();
  /** Only these are taken back, and only once: otherwise two users would write into one buffer. */
  readonly #taken = new WeakSet<ArrayBufferLike>();
  #kept = 0;

  /** @returns a buffer of this length with arbitrary old content. */
  take(length: number): Buffer {
    if (length > longest) return Buffer.allocUnsafeSlow(length);
    const size = length <= shortest ? shortest : 1 << (32 - Math.clz32(length - 1));
    let memory = this.#free.get(size)?.pop();
    if (memory) this.#kept -= size;
    else memory = Buffer.allocUnsafeSlow(size).buffer;
    this.#taken.add(memory);
    return Buffer.from(memory, 0, length);
  }

  /** @param buffer what `take` returned. */
  give({ buffer: memory }: Buffer): void {
    if (!(memory instanceof ArrayBuffer) || !this.#taken.delete(memory)) return;
    const size = memory.byteLength;
    if (this.#kept + size > mostKept) return;
    const free = this.#free.get(size);
    if (free) free.push(memory);
    else this.#free.set(size, [memory]);
    this.#kept += size;
  }
}

/** From so many bytes on, a pooled buffer is cheaper than a fresh one. */
export const pooledBytes = 8_192;
/** For rows received and pages sent. */
export const pageMemory = new BufferPool();
