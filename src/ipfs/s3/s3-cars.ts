import { randomBytes, randomUUID } from "node:crypto";
import { openAsBlob } from "node:fs";
import { mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { S3Settings } from "../../config/ipfs-store.ts";
import { ServiceError } from "../../errors/errors.ts";
import { ConfigError } from "../../setting-words.ts";
import { readCached } from "../../telemetry/metrics.ts";
import type { CarFile } from "../car-file.ts";
import { type ByteRange, type CarStorage, type OpenCar, type Records, StoreAway } from "../car-storage.ts";
import { carPath, carType, prepareIncoming, unlinkIfThere } from "../local-cars.ts";
import { countForMinorGc } from "../minor-gc.ts";
import { sweepParts } from "../sweep-parts.ts";
import { pieceBytes, RangeCache } from "./range-cache.ts";
import type { S3Objects } from "./s3-objects.ts";
import { ObjectMissing, StoreFault } from "./store-fault.ts";
import { StoreHealth } from "./store-health.ts";
import { requireOwner, sweepObjects } from "./sweep-objects.ts";

/** Bytes per request for a CAR that is read from its first byte to its last. */
const streamedAtOnce = 1_048_576;
/** After this time without a request, the store is probed before it counts as healthy. */
const knownMs = 10_000;

/** The key of a CAR's object, below the prefix: the path that the file has in a local folder. */
function carKey(file: string): string {
  return `cars/${file.slice(0, 2)}/${file}.car`;
}

/**
 * CAR files as objects of S3, which any number of hosts share. This machine only has CARs that are being written, and
 * copies of pieces that were read.
 */
export class S3Cars implements CarStorage {
  readonly keepsCopies: boolean;
  readonly sweepEveryMs = 3_600_000;
  readonly #settings: S3Settings;
  readonly #folder: string;
  readonly #health: StoreHealth;
  readonly #cache: RangeCache | null;
  /** Pieces that are being fetched, shared by all readers that wait for them. */
  readonly #coming = new Map<string, Promise<Buffer[]>>();
  #loaded: Promise<S3Objects> | undefined;
  #incoming: Promise<string> | undefined;

  /** @param folder on this machine, for CARs that are being written and for copies. */
  constructor(settings: S3Settings, folder: string) {
    this.#settings = settings;
    this.#folder = folder;
    this.#health = new StoreHealth(settings);
    this.#cache = settings.cacheBytes > 0 ? new RangeCache(join(folder, "cache"), settings.cacheBytes) : null;
    this.keepsCopies = this.#cache !== null;
  }

  get figures() {
    return this.#health.figures;
  }

  incoming(): Promise<string> {
    this.#incoming ??= prepareIncoming(this.#folder);
    return this.#incoming;
  }

  async publish(car: CarFile): Promise<void> {
    try {
      await (await this.#objects()).putFile(carKey(car.id), car.path);
    } catch (error) {
      // If the store did not keep the bytes as sent, the upload can be repeated.
      throw error instanceof StoreFault || error instanceof ObjectMissing ? new StoreAway(error) : error;
    }
    await car.discard();
  }

  async remove(file: string): Promise<void> {
    await (await this.#objects()).remove(carKey(file));
  }

  async read(file: string, position: number, length: number, fresh = false): Promise<Buffer | null> {
    // An empty block: S3 has no empty ranges.
    if (length === 0) return Buffer.alloc(0);
    const cache = this.#cache;
    if (!cache) return whole(await (await this.#objects()).getRange(carKey(file), position, length), length);
    const [first, last] = [Math.floor(position / pieceBytes), Math.floor((position + length - 1) / pieceBytes)];
    const pieces: (Buffer | null)[] = [];
    for (let index = first; index <= last; index += 1) {
      // A piece cut short by a crash counts as missing; a CAR's last one is shorter, but contains the block's end.
      const piece = fresh ? null : await cache.get(file, index);
      const needed = Math.min(pieceBytes, position + length - index * pieceBytes);
      pieces.push(piece && piece.length >= needed ? piece : null);
    }
    const missing = pieces.flatMap((piece, at) => (piece === null ? [first + at] : []));
    this.figures.cacheHits += pieces.length - missing.length;
    this.figures.cacheMisses += missing.length;
    const [from, until] = [missing[0], missing.at(-1)];
    if (from !== undefined && until !== undefined)
      for (const [at, piece] of (await this.#fetch(cache, file, from, until)).entries())
        pieces[from - first + at] = piece;
    const bytes = Buffer.concat(pieces.map((piece) => piece ?? Buffer.alloc(0)));
    const start = position - first * pieceBytes;
    // Copied: a slice that is kept would keep all bytes that were read with it.
    return bytes.length < start + length ? null : Buffer.from(bytes.subarray(start, start + length));
  }

  /** Fetches pieces of a CAR with one request, which all readers of the same pieces share. */
  async #fetch(cache: RangeCache, file: string, from: number, until: number): Promise<Buffer[]> {
    const key = `${file} ${from} ${until}`;
    const under = this.#coming.get(key);
    if (under) return await under;
    const coming = this.#fetchNow(cache, file, from, until).finally(() => this.#coming.delete(key));
    this.#coming.set(key, coming);
    return await coming;
  }

  async #fetchNow(cache: RangeCache, file: string, from: number, until: number): Promise<Buffer[]> {
    const length = (until - from + 1) * pieceBytes;
    countForMinorGc(length);
    const bytes = await (await this.#objects()).getRange(carKey(file), from * pieceBytes, length);
    const pieces: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += pieceBytes) pieces.push(bytes.subarray(at, at + pieceBytes));
    for (const [at, piece] of pieces.entries()) await cache.put(file, from + at, piece);
    return pieces;
  }

  async open(file: string): Promise<OpenCar | null> {
    const objects = await this.#objects();
    const size = await objects.size(carKey(file));
    if (size === null) return null;
    const read = async (position: number, length: number) => {
      countForMinorGc(length);
      return length === 0 ? Buffer.alloc(0) : whole(await objects.getRange(carKey(file), position, length), length);
    };
    return { size, read, close: async () => undefined };
  }

  /** Sends one request after another, so that no connection stays open while a slow reader consumes. */
  async *stream(file: string, range?: ByteRange): AsyncGenerator<Uint8Array> {
    const objects = await this.#objects();
    try {
      const end = range ? range.offset + range.length : Number.POSITIVE_INFINITY;
      for (let at = range?.offset ?? 0; at < end; ) {
        const length = Math.min(streamedAtOnce, end - at);
        countForMinorGc(length);
        const bytes = await objects.getRange(carKey(file), at, length);
        if (bytes.length > 0) yield bytes;
        at += bytes.length;
        if (bytes.length < length && range) throw new Error(`CAR ${file} ends at byte ${at}`);
        if (bytes.length < length) return;
      }
    } catch (cause) {
      if (cause instanceof StoreAway) throw cause;
      throw new ServiceError("service_unavailable", "a file of the store cannot be read", { cause });
    }
  }

  async withBlob<T>(file: string, use: (car: Blob) => Promise<T>): Promise<T> {
    // Copies in this folder last a day: the server that reads this one may be slow.
    const incoming = await this.incoming();
    // On a machine with workers only, nothing else removes their copies.
    await sweepParts(incoming);
    const path = join(incoming, `${randomUUID()}.copy`);
    try {
      await writeFile(path, this.stream(file), { flag: "wx" });
      return await use(await openAsBlob(path, { type: carType }));
    } finally {
      await unlinkIfThere(path);
    }
  }

  async sweep(records: Records, now: number): Promise<number> {
    const local = await sweepParts(await this.incoming(), now);
    return local + (await sweepObjects(await this.#objects(), records, now));
  }

  async copyOut(folder: string): Promise<void> {
    const objects = await this.#objects();
    for await (const page of objects.list("cars/"))
      for (const { key } of page) {
        const file = basename(key, ".car");
        if (key !== carKey(file)) continue;
        const path = carPath(folder, file);
        await mkdir(dirname(path), { recursive: true });
        try {
          await writeFile(path, this.stream(file), { flag: "wx", mode: 0o600 });
        } catch (error) {
          // An object that was listed and is gone since is not in any row.
          if (!((error as Error).cause instanceof ObjectMissing)) throw error;
          await unlinkIfThere(path);
        }
      }
  }

  async copyIn(folder: string): Promise<void> {
    const objects = await this.#objects();
    const names = await readdir(join(folder, "cars"), { recursive: true }).catch(() => []);
    for (const name of names) {
      const file = basename(name, ".car");
      if (!name.endsWith(".car")) continue;
      const path = carPath(folder, file);
      // Existing objects may be terabytes, so only their size is compared.
      if ((await objects.size(carKey(file))) !== (await stat(path)).size) await objects.putFile(carKey(file), path);
    }
  }

  async check(database?: () => Promise<string>): Promise<void> {
    const key = `probe/${randomUUID()}`;
    const bytes = randomBytes(64);
    const objects = await this.#objects();
    try {
      await objects.put(key, bytes);
      const part = await objects.getRange(key, 16, 32);
      if (!part.equals(bytes.subarray(16, 48)))
        throw new ConfigError("AWS_ENDPOINT_URL_S3: the store gives other bytes than those that were asked for");
      for await (const _ of objects.list("probe/")) break;
      await objects.abortUploads("probe/", 0);
      await objects.remove(key);
      if (database) await requireOwner(objects, await database());
    } catch (error) {
      const { cause } = error as Error;
      if (cause instanceof StoreFault && cause.isMistake) throw new ConfigError(cause.message, { cause });
      throw error;
    }
  }

  async trouble(): Promise<string | null> {
    // Not awaited: a supervisor of this process would take a slow answer for a dead process.
    if (performance.now() - this.#health.lastAsked > knownMs || this.#health.fault()) void this.#look();
    return this.#health.fault()?.message ?? null;
  }

  /** Probes a missing key: only whether the store answers counts. */
  readonly #look = readCached(knownMs / 2, async () => {
    await (await this.#objects()).size("probe/none").catch(() => undefined);
  });

  close(): void {
    this.#loaded?.then((objects) => objects.close()).catch(() => undefined);
  }

  #objects(): Promise<S3Objects> {
    this.#loaded ??= import("./s3-objects.ts").then(({ S3Objects }) => new S3Objects(this.#settings, this.#health.ask));
    return this.#loaded;
  }
}

function whole(bytes: Buffer, length: number): Buffer | null {
  return bytes.length === length ? bytes : null;
}
