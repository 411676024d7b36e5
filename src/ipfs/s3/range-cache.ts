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

/**
 * Pieces of CARs on the disk of this machine, in a folder that several processes share. A CAR never changes under its id, so a
 * piece is named by the id and its place; the reader checks the hash of each block, and has a wrong piece fetched again.
 * A crash can leave a piece cut or empty, which counts as one that is not there, and nothing else.
 *
 * Its bound is held by each process for itself: with N of them it may be exceeded by N sixteenths for a moment.
 */
export class RangeCache {
  readonly #folder: string;
  readonly #mostBytes: number;
  #writtenBytes: number;
  #trimming: Promise<void> | null = null;

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
      await this.#makeRoom(bytes.length);
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

  async #makeRoom(bytes: number): Promise<void> {
    this.#writtenBytes += bytes;
    if (this.#trimming) return await this.#trimming;
    if (this.#writtenBytes < this.#mostBytes / share) return;
    this.#writtenBytes = bytes;
    this.#trimming = this.#trim(Math.max(bytes, this.#mostBytes / share)).finally(() => {
      this.#trimming = null;
    });
    await this.#trimming;
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
      if (!entry.name.endsWith(".tmp")) pieces.push({ path, size: info.size, usedMs: info.mtimeMs });
      else if (now - info.mtimeMs > abandonedAfterMs) await unlink(path).catch(() => undefined);
      total += info.size;
    }
    const bound = this.#mostBytes - room;
    for (const { path, size } of pieces.sort((a, b) => a.usedMs - b.usedMs)) {
      if (total <= bound) break;
      await unlink(path).catch(() => undefined);
      total -= size;
    }
  }
}
