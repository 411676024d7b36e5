import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, rename, stat, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { abandonedAfterMs } from "../sweep-parts.ts";

/** CARs are read in pieces of this size: the documents of a collection lie one after another. */
export const pieceBytes = 262_144;
/** After so much of the bound was written, the folder is looked through. */
const share = 16;
/** A piece that was used is marked so at most once in this time. */
const markedMs = 60_000;

/** What a file takes, at least a block of the usual file systems: most single files are small CARs. */
const onDisk = (bytes: number) => Math.max(4_096, bytes);

/**
 * Pieces of CARs on the disk of this machine, in a folder that several processes share. A CAR never changes under its id, so a
 * piece is named by the id and its place; the reader checks the hash of each block, and has a wrong piece fetched again.
 * A crash can leave a piece cut or empty, which counts as one that is not there, and nothing else.
 *
 * Its bound counts what files take of a disk, and is held by each process for itself: with N of them it may be exceeded by
 * N sixteenths, and by what is read while a process looks through the folder. No reader waits for that look.
 */
export class RangeCache {
  readonly #folder: string;
  readonly #mostBytes: number;
  #writtenBytes: number;
  #trimming = false;

  constructor(folder: string, mostBytes: number) {
    this.#folder = folder;
    this.#mostBytes = mostBytes;
    // The first piece looks through what earlier processes left.
    this.#writtenBytes = mostBytes;
  }

  /** @returns null for a piece that is not here, or cannot be read. */
  async get(file: string, index: number): Promise<Buffer | null> {
    try {
      const handle = await open(this.#path(file, index), "r");
      try {
        const { mtimeMs } = await handle.stat();
        const bytes = await handle.readFile();
        const now = new Date();
        if (now.getTime() - mtimeMs > markedMs) await handle.utimes(now, now);
        return bytes;
      } finally {
        await handle.close();
      }
    } catch {
      return null;
    }
  }

  /** Never fails: a disk that is full keeps no copy, and readers get what they asked for. */
  async put(file: string, index: number, bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0 || bytes.length > this.#mostBytes) return;
    const path = this.#path(file, index);
    const part = join(this.#folder, `${randomUUID()}.tmp`);
    try {
      this.#makeRoom(onDisk(bytes.length));
      await mkdir(join(path, ".."), { recursive: true });
      await writeFile(part, bytes, { flag: "wx" });
      await rename(part, path);
    } catch {
      await unlink(part).catch(() => undefined);
    }
  }

  #path(file: string, index: number): string {
    return join(this.#folder, file.slice(0, 2), `${file}-${index}`);
  }

  #makeRoom(bytes: number): void {
    this.#writtenBytes += bytes;
    if (this.#trimming) return;
    this.#trimming = true;
    void this.#trimWhileFull(bytes).finally(() => {
      this.#trimming = false;
    });
  }

  /** Again for what was written meanwhile. @param bytes of a piece that may not be on the disk yet. */
  async #trimWhileFull(bytes: number): Promise<void> {
    while (this.#writtenBytes >= this.#mostBytes / share) {
      this.#writtenBytes = 0;
      await this.#trim(Math.max(bytes, this.#mostBytes / share));
    }
  }

  /** Removes what was not used longest, until what one process writes before the next look has room. */
  async #trim(room: number): Promise<void> {
    const pieces: { path: string; size: number; usedMs: number }[] = [];
    let total = 0;
    const now = Date.now();
    const entries = await readdir(this.#folder, { recursive: true, withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      // Another process may trim at the same time.
      const info = await stat(path).catch(() => null);
      if (!info) continue;
      const size = onDisk(info.size);
      if (!entry.name.endsWith(".tmp")) pieces.push({ path, size, usedMs: info.mtimeMs });
      else if (now - info.mtimeMs > abandonedAfterMs) await unlink(path).catch(() => undefined);
      total += size;
    }
    const bound = this.#mostBytes - room;
    for (const { path, size } of pieces.sort((a, b) => a.usedMs - b.usedMs)) {
      if (total <= bound) break;
      await unlink(path).catch(() => undefined);
      total -= size;
    }
  }
}
