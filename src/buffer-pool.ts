/** Shorter memory is cheaper to make than to keep. */
const shortest = 16_384;
/** Longer memory is made for its use alone. */
const longest = 1_048_576;
/** What is kept while nobody uses it, in bytes. */
const mostKept = 16 * 1_048_576;

/**
 * Memory for what is made and sent thousands of times a second. Memory outside of the heap costs page faults when it is made,
 * and the collector runs for it long before the heap is full.
 *
 * Who takes a buffer gives it back once nothing reads it any more, or never: then it is collected like any other.
 */
export class BufferPool {
  /** By length: powers of two. */
  readonly #free = new Map<number, ArrayBuffer[]>();
  /** Nothing else is taken back, and nothing twice: two would write into it. */
  readonly #taken = new WeakSet<ArrayBufferLike>();
  #kept = 0;

  /** @returns a buffer of this length; what is in it is of others. */
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

/** From so many bytes on, memory of the pool costs less than memory of one's own. */
export const pooledBytes = 8_192;
/** Of rows that came, and of pages that go out. */
export const pageMemory = new BufferPool();
