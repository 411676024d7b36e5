import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, rename, stat, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { abandonedAfterMs } from "../sweep-parts.ts";

/** CARs are read in pieces of this size: the documents of a collection are adjacent. */
export const pieceBytes = 262_144;
/** The folder is scanned each time that this fraction of the bound was written. */
const share = 16;
/** A used piece is marked as used at most this often. */
const markedMs = 60_000;

/** Disk space of a file: at least one block of the usual file systems, since most single files are small CARs. */
const onDisk = (bytes: number) => Math.max(4_096, bytes);

/**
 * Pieces of CARs on the disk of this machine, in a folder that several processes share. A CAR never changes under its
 * id, so a piece is identified by the id and its index. The reader checks the hash of each block, and fetches a wrong
 * piece again. A crash can leave a truncated or empty piece, which counts as missing.
 *
 * The bound applies to disk space, and each process enforces it by itself: N of them may exceed it by N sixteenths, and
 * by the bytes read while a process scans the folder. No reader waits for the scan.
 */
export class RangeCache {
  readonly #folder: string;
  readonly #mostBytes: number;
  #writtenBytes: number;
  #trimming = false;

  constructor(folder: string, mostBytes: number) {
    this.#folder = folder;
    this.#mostBytes = mostBytes;
    // So the first piece starts a scan for pieces of earlier processes.
    this.#writtenBytes = mostBytes;
  }

  /** @returns null for a piece that is missing or cannot be read. */
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

  /** Never fails: on a full disk no copy is kept, and readers get their bytes all the same. */
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

  /** Repeats the scan for bytes written meanwhile. @param bytes size of a piece that may not be on the disk yet. */
  async #trimWhileFull(bytes: number): Promise<void> {
    while (this.#writtenBytes >= this.#mostBytes / share) {
      this.#writtenBytes = 0;
      await this.#trim(Math.max(bytes, this.#mostBytes / share));
    }
  }

  /** Removes the least recently used pieces, until there is space for what one process writes before the next scan. */
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
