import { ServiceError } from "../errors/errors.ts";
import type { Part } from "../http/multipart.ts";
import type { FileInput } from "../uploads/upload-record.ts";

/** Of all files together that come before the one that is wanted. */
const keptBytes = 1_048_576;

/**
 * The files of a multipart request, read straight from the connection when the operation asks for them. One that
 * comes before its turn is kept in memory, if it is small: clients send files in the order of their variables.
 */
export class MultipartFiles {
  readonly #parts: AsyncGenerator<Part>;
  readonly #names: ReadonlySet<string>;
  readonly #seen = new Set<string>();
  readonly #used = new Set<string>();
  readonly #kept = new Map<string, FileInput>();
  /** Begun while the end of the part before was looked for; null: the form has ended. */
  #ahead: Part | null | undefined;
  #room = keptBytes;

  /** @param names the parts that are files of the operation; others are passed over. */
  constructor(parts: AsyncGenerator<Part>, names: ReadonlySet<string>) {
    this.#parts = parts;
    this.#names = names;
  }

  /** @throws ServiceError `value_error` for a file that does not come, comes twice or is used twice. */
  async open(name: string): Promise<FileInput> {
    if (this.#used.has(name)) throw wrong(name, "is used twice: send it as two parts");
    this.#used.add(name);
    const kept = this.#kept.get(name);
    if (kept) return kept;
    for (;;) {
      const part = await this.#take();
      if (!part) throw wrong(name, "is missing in the request");
      if (!this.#names.has(part.name)) continue;
      this.#seen.add(part.name);
      const { fileName, contentType } = part;
      if (part.name === name) return { fileName, contentType, stream: this.#bytesOf(part) };
      const bytes = await this.#keep(part);
      this.#kept.set(part.name, { fileName, contentType, stream: only(bytes) });
    }
  }

  async #take(): Promise<Part | null> {
    const ahead = this.#ahead;
    if (ahead === null) return null;
    this.#ahead = undefined;
    if (ahead) return ahead;
    const { value: part, done } = await this.#parts.next();
    if (done) {
      this.#ahead = null;
      return null;
    }
    if (this.#seen.has(part.name)) throw wrong(part.name, "comes twice");
    return part;
  }

  /** Ends when the form goes on behind the file, or ends well: what is cut off must not look like a whole file. */
  async *#bytesOf({ stream }: Part): AsyncGenerator<Uint8Array> {
    // Whoever stops early leaves the rest to be passed over, so that the next file is found.
    yield* stream.iterator({ destroyOnReturn: false });
    this.#ahead = await this.#take();
  }

  async #keep({ name, stream }: Part): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
      this.#room -= chunk.length;
      if (this.#room < 0) throw wrong(name, "comes before its turn: send files in the order in which they are used");
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }
}

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function wrong(name: string, what: string): ServiceError {
  return new ServiceError("value_error", `the file of part ${JSON.stringify(name.slice(0, 100))} ${what}`);
}
