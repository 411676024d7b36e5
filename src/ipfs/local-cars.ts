import { constants, createReadStream, openAsBlob } from "node:fs";
import { copyFile, cp, type FileHandle, mkdir, open, readdir, unlink } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { LRUCache } from "lru-cache";
import { ServiceError } from "../errors/errors.ts";
import { type CarFile, readAt } from "./car-file.ts";
import type { ByteRange, CarStorage, OpenCar, Records } from "./car-storage.ts";
import { sweepOrphans, sweepParts } from "./sweep-parts.ts";

/** Bytes per read of a CAR that is sent unchanged. */
const streamedAtOnce = 262_144;
export const carType = "application/vnd.ipld.car";

/** Path of a CAR below a folder of the store or of a backup. */
export function carPath(folder: string, file: string): string {
  return join(folder, "cars", file.slice(0, 2), `${file}.car`);
}

/** CAR files in the data folder, which several processes may share. */
export class LocalCars implements CarStorage {
  readonly keepsCopies = false;
  readonly sweepEveryMs = 600_000;
  readonly figures = null;
  readonly #folder: string;
  readonly #files = new OpenFiles(64);
  #prepared: Promise<string> | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  incoming(): Promise<string> {
    this.#prepared ??= prepareIncoming(this.#folder);
    return this.#prepared;
  }

  async publish(car: CarFile): Promise<void> {
    await car.moveTo(carPath(this.#folder, car.id));
  }

  async remove(file: string): Promise<void> {
    await unlinkIfThere(carPath(this.#folder, file));
  }

  async read(file: string, position: number, length: number): Promise<Buffer | null> {
    const path = carPath(this.#folder, file);
    return await this.#files.use(path, async (handle) => await readAt(handle, position, length));
  }

  async open(file: string): Promise<OpenCar | null> {
    const handle = await openIfThere(carPath(this.#folder, file));
    if (!handle) return null;
    try {
      const { size } = await handle.stat();
      const read = async (position: number, length: number) => await readAt(handle, position, length);
      return { size, read, close: async () => await handle.close() };
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async *stream(file: string, range?: ByteRange): AsyncGenerator<Uint8Array> {
    const part = range ? { start: range.offset, end: range.offset + range.length - 1 } : {};
    try {
      yield* createReadStream(carPath(this.#folder, file), { ...part, highWaterMark: streamedAtOnce });
    } catch (cause) {
      throw new ServiceError("service_unavailable", "a file of the store cannot be read", { cause });
    }
  }

  async withBlob<T>(file: string, use: (car: Blob) => Promise<T>): Promise<T> {
    return await use(await openAsBlob(carPath(this.#folder, file), { type: carType }));
  }

  async sweep({ known }: Records, now: number): Promise<number> {
    const incoming = join(this.#folder, "incoming");
    await mkdir(incoming, { recursive: true });
    const orphans = await sweepOrphans(join(this.#folder, "cars"), incoming, known, now);
    return orphans + (await sweepParts(incoming, now));
  }

  async copyOut(folder: string): Promise<void> {
    // Files that rows name are only ever added. Copied one by one, as another's removal must not end the backup.
    const entries = await readdir(this.#folder, { recursive: true, withFileTypes: true }).catch(ifThere([]));
    for (const entry of entries) {
      // A file that is still being written has another extension.
      if (!entry.isFile() || entry.name.endsWith(".part")) continue;
      const target = join(folder, relative(this.#folder, entry.parentPath), entry.name);
      await mkdir(dirname(target), { recursive: true });
      await copyFile(join(entry.parentPath, entry.name), target, constants.COPYFILE_EXCL).catch(ifThere(undefined));
    }
  }

  async copyIn(folder: string): Promise<void> {
    await cp(folder, this.#folder, { recursive: true });
  }

  async check(): Promise<void> {}

  async trouble(): Promise<null> {
    return null;
  }

  close(): void {
    this.#files.close();
  }
}

/** Makes the folder for CARs that are being written, and removes the remains of dead processes from it. */
export async function prepareIncoming(folder: string): Promise<string> {
  const incoming = join(folder, "incoming");
  await mkdir(incoming, { recursive: true });
  await sweepParts(incoming);
  return incoming;
}

export async function unlinkIfThere(path: string): Promise<void> {
  await unlink(path).catch(ifThere(undefined));
}

async function openIfThere(path: string): Promise<FileHandle | null> {
  return await open(path, "r").catch(ifThere(null));
}

/** Handles a missing file, which is no failure here. @param instead the value in place of the result. */
function ifThere<T>(instead: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === "ENOENT") return instead;
    throw error;
  };
}

interface OpenFile {
  handle: Promise<FileHandle>;
  users: number;
  dropped: boolean;
}

/** Descriptors of recently read files. An evicted one is closed after its last reader. */
class OpenFiles {
  readonly #files: LRUCache<string, OpenFile>;

  constructor(capacity: number) {
    const dispose = (file: OpenFile) => {
      file.dropped = true;
      closeUnused(file);
    };
    this.#files = new LRUCache({ max: capacity, dispose });
  }

  /** Gives `use` the descriptor of `path`. @throws what opening throws: ENOENT for a lost file. */
  async use<T>(path: string, use: (handle: FileHandle) => Promise<T>): Promise<T> {
    const file = this.#files.get(path) ?? this.#open(path);
    file.users += 1;
    try {
      return await use(await file.handle);
    } finally {
      file.users -= 1;
      closeUnused(file);
    }
  }

  close(): void {
    this.#files.clear();
  }

  #open(path: string): OpenFile {
    const file = { handle: open(path, "r"), users: 0, dropped: false };
    file.handle.catch(() => this.#files.delete(path));
    this.#files.set(path, file);
    return file;
  }
}

function closeUnused(file: OpenFile): void {
  if (!file.dropped || file.users > 0) return;
  file.handle.then((handle) => handle.close()).catch(() => undefined);
}
