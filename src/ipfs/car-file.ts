import { randomUUID } from "node:crypto";
import { type FileHandle, mkdir, open, rename, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createWriter, headerLength } from "@ipld/car/buffer-writer";
import { varint } from "multiformats";
import { CID } from "multiformats/cid";
import { keyOf } from "./block-hash.ts";

/** Blocks are buffered in memory up to this size before they are written: one write per small block would be slow. */
const bufferBytes = 524_288;

/** A block of this size or more is written by itself. */
const largeBytes = 65_536;

/** A placeholder for the root in the header, until the root is known. Any CID of the same length would do. */
const placeholder = CID.parse("bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku");

export interface BlockPosition {
  multihash: Buffer;
  position: number;
  size: number;
}

/**
 * A CARv1 that is being written: `<id>.part` until it is complete and on disk. The `CarStorage` takes it from there.
 * A block that is put twice is written once.
 */
export class CarFile {
  readonly id: string;
  readonly #part: string;
  readonly #handle: FileHandle;
  /** Keyed by multihash; a directory has tens of thousands of blocks. */
  readonly #positions = new Map<string, { position: number; size: number }>();
  #buffered: Uint8Array[] = [];
  #bufferedBytes = 0;
  #size = 0;
  #lastWrite: Promise<void> = Promise.resolve();
  #open = true;

  private constructor(id: string, part: string, handle: FileHandle) {
    this.id = id;
    this.#part = part;
    this.#handle = handle;
    this.#append(header(placeholder));
  }

  static async create(folder: string): Promise<CarFile> {
    const id = randomUUID();
    const part = join(folder, `${id}.part`);
    return new CarFile(id, part, await open(part, "wx"));
  }

  get sizeBytes(): number {
    return this.#size;
  }

  get blockCount(): number {
    return this.#positions.size;
  }

  *blocks(): Iterable<BlockPosition> {
    for (const [key, position] of this.#positions) yield { multihash: Buffer.from(key, "latin1"), ...position };
  }

  /** The importer's block store: resolves when the buffer can take more. */
  readonly put = async (cid: CID, bytes: unknown): Promise<CID> => {
    if (!(bytes instanceof Uint8Array)) throw new TypeError("a block must come in one piece");
    const key = keyOf(cid.multihash.bytes);
    if (this.#positions.has(key)) return cid;
    this.#append(section(cid, bytes.length));
    this.#positions.set(key, { position: this.#size, size: bytes.length });
    this.#append(bytes);
    if (this.#bufferedBytes >= bufferBytes) await this.#flush();
    return cid;
  };

  /** Writes the root into the header and syncs the file to disk. No `put` after this. */
  async seal(root: CID): Promise<void> {
    const bytes = header(root);
    if (bytes.length !== header(placeholder).length) throw new Error(`root ${root} does not fit the CAR's header`);
    await this.#flush();
    await this.#handle.write(bytes, 0, bytes.length, 0);
    await this.#handle.sync();
    await this.#close();
  }

  /** Path of the file until it is moved or discarded. */
  get path(): string {
    return this.#part;
  }

  /** Moves the sealed file to `target`, durably: a power cut cannot lose it afterwards. */
  async moveTo(target: string): Promise<void> {
    const folder = dirname(target);
    const made = await mkdir(folder, { recursive: true });
    await rename(this.#part, target);
    await syncFolder(folder);
    // A new folder is an entry of its parent, which has to be synced as well.
    for (let child = folder; made !== undefined && child.startsWith(made); child = dirname(child)) {
      await syncFolder(dirname(child));
    }
  }

  /** Removes the file, whatever its state, unless it was moved. */
  async discard(): Promise<void> {
    await this.#lastWrite.catch(() => undefined);
    await this.#close();
    await unlink(this.#part).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
  }

  #append(bytes: Uint8Array): void {
    this.#buffered.push(bytes);
    this.#bufferedBytes += bytes.length;
    this.#size += bytes.length;
  }

  #flush(): Promise<void> {
    const pieces = joinSmall(this.#buffered);
    this.#buffered = [];
    this.#bufferedBytes = 0;
    // On a file handle, writeFile continues at the last position and, unlike write, never writes only a part.
    for (const bytes of pieces) this.#lastWrite = this.#lastWrite.then(() => this.#handle.writeFile(bytes));
    return this.#lastWrite;
  }

  async #close(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    await this.#handle.close();
  }
}

/** Joins small buffers. Large ones stay as they are: each copy would wait in memory for the collector. */
function joinSmall(buffers: readonly Uint8Array[]): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  let small: Uint8Array[] = [];
  for (const buffer of buffers) {
    small.push(buffer);
    if (buffer.length < largeBytes) continue;
    small.pop();
    pieces.push(Buffer.concat(small), buffer);
    small = [];
  }
  pieces.push(Buffer.concat(small));
  return pieces.filter(({ length }) => length > 0);
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** The start of a CARv1 with one root. */
export function header(root: CID): Uint8Array {
  const roots = [root];
  return createWriter(new ArrayBuffer(headerLength({ roots })), { roots }).close();
}

/** The bytes before a block's data: their length and the CID. */
export function section(cid: CID, dataBytes: number): Uint8Array {
  const length = cid.bytes.length + dataBytes;
  const prefix = new Uint8Array(varint.encodingLength(length) + cid.bytes.length);
  varint.encodeTo(length, prefix);
  prefix.set(cid.bytes, prefix.length - cid.bytes.length);
  return prefix;
}

/** Bytes of a file from a position on; null if the file ends before the last of them. */
export async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer | null> {
  // Not allocUnsafe: a small block that is kept would keep the whole pool from which it was cut.
  const bytes = Buffer.allocUnsafeSlow(length);
  for (let done = 0; done < length; ) {
    const { bytesRead } = await handle.read(bytes, done, length - done, position + done);
    if (bytesRead === 0) return null;
    done += bytesRead;
  }
  return bytes;
}
