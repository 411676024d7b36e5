import { createHash, randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { LRUCache } from "lru-cache";
import { byteBound } from "../cache-bounds.ts";
import { causeOf, type LogOnce } from "../telemetry/log-once.ts";

export interface CacheSettings {
  folder: string;
  /** Of all files, counted in disk blocks. */
  mostBytes: number;
  /** Whether the disk has enough free space. */
  hasRoom: () => Promise<boolean>;
  logOnce: LogOnce;
}

const inMemoryBytes = 8_388_608;
const diskBlock = 4_096;
const digestBytes = 32;
/** A file still being written after this time was left by a dead process. */
const abandonedMs = 600_000;
/** Fractions of the bound: files are counted after each `countAfter` written; above `removeFrom`, cut to `removeTo`. */
const [countAfter, removeFrom, removeTo] = [1 / 16, 15 / 16, 7 / 8];

interface KeptFile {
  path: string;
  bytes: number;
  usedAt: number;
}

/**
 * Previews on disk, shared by the processes of a data folder; least recently used ones go first. A file begins with the
 * digest of the rest, to detect torn writes. Where the disk is not writable, the newest are in memory only.
 */
export class ThumbnailCache {
  readonly #settings: CacheSettings;
  readonly #recent = new LRUCache<string, Buffer>(byteBound(inMemoryBytes));
  /** Bytes written since the files were counted. Infinite before the first count, since the cache may be full. */
  #written = Number.POSITIVE_INFINITY;
  #removing: Promise<void> | null = null;

  constructor(settings: CacheSettings) {
    this.#settings = settings;
  }

  /** @returns null for a preview that is not cached, or cannot be read. */
  async get(key: string): Promise<Buffer | null> {
    const recent = this.#recent.get(key);
    if (recent) return recent;
    const path = this.#pathOf(key);
    const file = await readFile(path).catch(() => null);
    if (!file) return null;
    const bytes = file.subarray(digestBytes);
    if (!digestOf(bytes).equals(file.subarray(0, digestBytes))) {
      await rm(path, { force: true }).catch(() => undefined);
      return null;
    }
    this.#recent.set(key, bytes);
    const now = new Date();
    await utimes(path, now, now).catch(() => undefined);
    return bytes;
  }

  /** Never fails: a preview that cannot be written is kept in memory for a while. */
  async put(key: string, bytes: Buffer): Promise<void> {
    this.#recent.set(key, bytes);
    const { mostBytes, hasRoom, logOnce } = this.#settings;
    const size = onDisk(digestBytes + bytes.length);
    if (size > mostBytes * countAfter || !(await hasRoom())) return;
    const path = this.#pathOf(key);
    const part = `${path}.${randomUUID()}.part`;
    try {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(part, Buffer.concat([digestOf(bytes), bytes]));
      await rename(part, path);
    } catch (err) {
      await rm(part, { force: true }).catch(() => undefined);
      logOnce.write("warn", `thumbnails ${causeOf(err)}`, { err }, "a preview cannot be kept; it will be made again");
      return;
    }
    this.#written += size;
    if (this.#written < mostBytes * countAfter) return;
    this.#removing ??= this.#removeOldest()
      .catch((err) => logOnce.write("warn", `thumbnails ${causeOf(err)}`, { err }, "previews cannot be counted"))
      .finally(() => {
        this.#removing = null;
      });
    await this.#removing;
  }

  #pathOf(key: string): string {
    const name = createHash("sha256").update(key).digest("hex");
    return join(this.#settings.folder, name.slice(0, 2), name);
  }

  async #removeOldest(): Promise<void> {
    const { mostBytes, folder } = this.#settings;
    this.#written = 0;
    // Only numbers: a cache of small previews has hundreds of thousands of files.
    const [ages, sizes]: [number[], number[]] = [[], []];
    for await (const { usedAt, bytes } of filesIn(folder)) {
      ages.push(usedAt);
      sizes.push(bytes);
    }
    let total = sizes.reduce((sum, bytes) => sum + bytes, 0);
    if (total <= mostBytes * removeFrom) return;
    const last = newestToRemove(ages, sizes, total - mostBytes * removeTo);
    for await (const { path, bytes, usedAt } of filesIn(folder)) {
      if (total <= mostBytes * removeTo) return;
      if (usedAt > last) continue;
      await rm(path, { force: true }).catch(() => undefined);
      total -= bytes;
    }
  }
}

/** Last use of the newest file that has to be removed to free `excess` bytes. */
function newestToRemove(ages: readonly number[], sizes: readonly number[], excess: number): number {
  const order = ages.map((_, at) => at).sort((a, b) => (ages[a] ?? 0) - (ages[b] ?? 0));
  let removed = 0;
  const last = order.find((at) => {
    removed += sizes[at] ?? 0;
    return removed >= excess;
  });
  return ages[last ?? -1] ?? Number.POSITIVE_INFINITY;
}

/** Incomplete files are skipped, and removed when abandoned. Other processes may remove files and folders meanwhile. */
async function* filesIn(folder: string): AsyncGenerator<KeptFile> {
  for (const part of await readdir(folder).catch(() => []))
    for (const name of await readdir(join(folder, part)).catch(() => [])) {
      const path = join(folder, part, name);
      const info = await stat(path).catch(() => null);
      if (!info?.isFile()) continue;
      if (path.endsWith(".part") && info.mtimeMs < Date.now() - abandonedMs)
        await rm(path, { force: true }).catch(() => undefined);
      else yield { path, bytes: onDisk(info.size), usedAt: info.mtimeMs };
    }
}

function onDisk(bytes: number): number {
  return Math.ceil(bytes / diskBlock) * diskBlock;
}

function digestOf(bytes: Buffer): Buffer {
  return createHash("sha256").update(bytes).digest();
}
