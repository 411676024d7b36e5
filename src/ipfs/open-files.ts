import { type FileHandle, open } from "node:fs/promises";

interface OpenFile {
  handle: Promise<FileHandle>;
  users: number;
  dropped: boolean;
}

/** The descriptors of the files read last. One that is pushed out is closed when its last reader is done. */
export class OpenFiles {
  readonly #capacity: number;
  readonly #files = new Map<string, OpenFile>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Lends the descriptor of `path` to `use`. @throws what opening throws: ENOENT for a lost file. */
  async use<T>(path: string, use: (handle: FileHandle) => Promise<T>): Promise<T> {
    const file = this.#take(path);
    try {
      return await use(await file.handle);
    } finally {
      file.users -= 1;
      this.#closeUnused(file);
    }
  }

  async close(): Promise<void> {
    for (const path of [...this.#files.keys()]) this.#drop(path);
  }

  #take(path: string): OpenFile {
    let file = this.#files.get(path);
    if (file) this.#files.delete(path);
    else {
      file = { handle: open(path, "r"), users: 0, dropped: false };
      file.handle.catch(() => this.#files.delete(path));
    }
    // A Map keeps the order of insertion: the last used is at the end.
    this.#files.set(path, file);
    file.users += 1;
    for (const [oldest] of this.#files) {
      if (this.#files.size <= this.#capacity) break;
      this.#drop(oldest);
    }
    return file;
  }

  #drop(path: string): void {
    const file = this.#files.get(path);
    if (!file) return;
    this.#files.delete(path);
    file.dropped = true;
    this.#closeUnused(file);
  }

  #closeUnused(file: OpenFile): void {
    if (!file.dropped || file.users > 0) return;
    file.handle.then((handle) => handle.close()).catch(() => undefined);
  }
}
