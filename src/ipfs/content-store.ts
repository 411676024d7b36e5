import { type Kysely, sql, type Transaction } from "kysely";
import { LRUCache } from "lru-cache";
import type { CID } from "multiformats/cid";
import { entryBound } from "../cache-bounds.ts";
import { type Config, ipfsDir } from "../config/config.ts";
import type { Database } from "../db/database.ts";
import { ServiceError } from "../errors/errors.ts";
import { LongWork } from "../long-work.ts";
import { createFetcher } from "../outbound/fetcher.ts";
import { HostLimits } from "../outbound/host-limits.ts";
import { collectUntil } from "../read-at-most.ts";
import { BlockReader } from "./block-reader.ts";
import { CarFile } from "./car-file.ts";
import type { ByteRange, CarStorage } from "./car-storage.ts";
import { findCar, hasMoreBlocks, type KnownEntry, recordCar, recordedFiles } from "./content-index.ts";
import { type CarShape, exportCar } from "./export-car.ts";
import { importCar } from "./import-car.ts";
import { type Imported, importDirectory, importFile, type NewDirectoryFile, type NewFile } from "./import-content.ts";
import { LocalCars } from "./local-cars.ts";
import { type ContentLocation, locateContent, type Whereabouts } from "./locate-content.ts";
import { parseCid } from "./parse-cid.ts";
import { profileName } from "./profile.ts";
import { RemoteBlocks } from "./remote-blocks.ts";
import { type ContentFile, type ResolvedContent, resolveContent, walk } from "./resolve-content.ts";
import { S3Cars } from "./s3/s3-cars.ts";
import { type StoredCar, verifyCar } from "./verify-car.ts";

/** The stored content, for the record that is written in the same transaction. */
export interface StoredContent {
  cid: string;
  carId: bigint;
  sizeBytes: number;
  /** Number of rows for its blocks and entries in the database. */
  rows: number;
  profile: string;
}

export interface StoredCarFile {
  /** Path in the store. */
  file: string;
  size: number;
  stream(range?: ByteRange): AsyncIterable<Uint8Array>;
}

/** A CAR with so few blocks is walked; each block costs as much as a small file. */
const walkedBlocks = 1_000;

type RecordIn<T> = (transaction: Transaction<Database>, content: StoredContent) => Promise<T>;

/**
 * Content by CID: CAR files in the data folder or in S3, looked up in the database.
 * An `add…` resolves only when the bytes are durable and everything about them is committed; when it throws, nothing of
 * it remains. The same content uploaded twice is one file. If the first copy turns out to be damaged, the second
 * replaces it.
 */
export class ContentStore {
  readonly #db: Kysely<Database>;
  /** The storage of the CARs. Only the content store writes there. */
  readonly cars: CarStorage;
  readonly #blocks: BlockReader;
  /** The last lookups, for a short time only: other processes write too. */
  readonly #entries = new LRUCache<string, KnownEntry>({ ...entryBound(10_000), ttl: 5_000 });
  readonly #remote: RemoteBlocks | null;

  /** @param remote null: content that is not stored here cannot be read. */
  constructor(cars: CarStorage, db: Kysely<Database>, remote: RemoteBlocks | null = null) {
    this.#remote = remote;
    this.#db = db;
    this.cars = cars;
    this.#blocks = new BlockReader(db, cars);
  }

  addFile<T>(file: NewFile, record: RecordIn<T>): Promise<T> {
    return this.#add((car) => importFile(file, car), record);
  }

  addDirectory<T>(files: AsyncIterable<NewDirectoryFile>, record: RecordIn<T>, work?: LongWork): Promise<T> {
    return this.#add((car) => importDirectory(files, car, work), record, work);
  }

  /**
   * Imports the content of a CAR file: all of it, each block checked, or nothing.
   *
   * @throws ServiceError `value_error` for a file that is no CAR of one whole file tree.
   */
  async importCar(source: AsyncIterable<Uint8Array>): Promise<{ cid: string; blocks: number }> {
    let blocks = 0;
    const build = async (car: CarFile) => {
      const root = await importCar(source, car);
      blocks = car.blockCount;
      return { root, sizeBytes: car.sizeBytes, entries: null, entryCount: 0 };
    };
    return await this.#add(build, async (_transaction, { cid }) => ({ cid, blocks }));
  }

  /**
   * Content as a CAR file, block by block.
   *
   * @returns null for content that is not here, "outside" for bytes that a file does not have; a lost block further
   *   down ends the iteration with an error.
   */
  async exportCar(
    cid: string,
    path: readonly string[],
    shape: CarShape,
  ): Promise<AsyncIterable<Uint8Array> | "outside" | null> {
    const parsed = parseCid(cid);
    return parsed && (await exportCar(this.#blocks, parsed, path, shape));
  }

  /**
   * The file with all content of a root, where it has so many blocks that walking them is expensive. Its blocks are in
   * the order in which they were stored. They are checked by the reader and by the checks of the worker.
   *
   * @returns null for any other root, and for one whose file was found to be damaged.
   */
  async findStoredCar(cid: string): Promise<StoredCarFile | null> {
    const parsed = parseCid(cid);
    const car = parsed && (await findCar(this.#db, parsed.toString()));
    if (!car || car.damage !== null || !(await hasMoreBlocks(this.#db, car.id, walkedBlocks))) return null;
    return { file: car.file, size: Number(car.size), stream: (range) => this.cars.stream(car.file, range) };
  }

  /** The result that `addDirectory` would have for these files; nothing is stored. */
  async predictDirectory(
    files: AsyncIterable<NewDirectoryFile>,
    work: LongWork,
  ): Promise<{ root: string; sizeBytes: number }> {
    const nowhere = { put: async (cid: CID) => cid };
    const { root, sizeBytes } = await importDirectory(files, nowhere, work);
    return { root: root.toString(), sizeBytes };
  }

  /** The whereabouts of each location's content. The text of a CID must be version 1. */
  async locate(locations: readonly ContentLocation[], work: LongWork): Promise<Whereabouts[]> {
    return await locateContent(this.#db, this.#blocks, locations, work);
  }

  /**
   * Resolves a CID and a path below it; the path's segments are plain, not URL-encoded.
   *
   * @returns null for a text that is no CID and for content that is not here.
   */
  resolve(cid: string, path: readonly string[]): Promise<ResolvedContent | null> {
    return resolveContent(this.#db, this.#blocks, this.#entries, cid, path);
  }

  /**
   * As `resolve`, and then from the operator's gateways, where that is switched on.
   *
   * @throws ServiceError `file_too_large`, `service_unavailable`, also while the content is read.
   */
  async resolveAnywhere(cid: string, path: readonly string[]): Promise<ResolvedContent | null> {
    const own = await this.resolve(cid, path);
    const remote = this.#remote;
    const parsed = own || !remote || path.length > longestPath ? null : parseCid(cid);
    if (!parsed || !remote) return own;
    const found = await walk(remote.beside(this.#blocks), parsed, path);
    if (found?.kind !== "file") return found;
    const stream: ContentFile["stream"] = (range) => {
      remote.refuseOver(range?.length ?? found.size);
      return found.stream(range);
    };
    return { ...found, stream };
  }

  /** The size of a block; null if it is not here. */
  async blockSize(cid: string): Promise<number | null> {
    const parsed = parseCid(cid);
    return parsed && (await this.#blocks.size(parsed));
  }

  /** One block as it is stored, checked against its hash; null if it is not here. */
  async readBlock(cid: string): Promise<Uint8Array | null> {
    const parsed = parseCid(cid);
    return parsed && (await this.#blocks.get(parsed));
  }

  /** Reads every file of a directory into memory, up to the limit of an upload; null for other content. */
  async readDirectory(cid: string): Promise<{ name: string; bytes: Uint8Array<ArrayBuffer> }[] | null> {
    const found = await this.resolve(cid, []);
    if (found?.kind !== "directory") return null;
    const files: { name: string; bytes: Uint8Array<ArrayBuffer> }[] = [];
    for (const { name } of await found.entries()) {
      const file = await this.resolve(cid, [name]);
      if (file?.kind !== "file") throw new Error(`${cid}/${name} is no file`);
      files.push({ name, bytes: await collectUntil(file.stream(), () => false) });
    }
    return files;
  }

  /** Gives `use` the CAR of an upload as a blob. Its bytes are read as they are consumed, until `use` resolves. */
  async withCar<T>(file: string, use: (car: Blob) => Promise<T>): Promise<T> {
    return await this.cars.withBlob(file, use);
  }

  /** Reads a whole stored CAR, as `verifyCar` does. */
  async verify(car: StoredCar, pace?: (bytes: number) => Promise<void>): Promise<string | null> {
    return await verifyCar(this.#db, car, this.cars, pace);
  }

  /**
   * Removes the remains of uploads by killed processes, and files that were replaced. Files younger than ten minutes
   * stay, since another process may be writing them.
   *
   * @returns how many files were removed or put aside.
   */
  async sweep(now: number = Date.now()): Promise<number> {
    const known = (files: string[]) => recordedFiles(this.#db, files);
    return await this.cars.sweep({ known, databaseName: () => this.databaseName() }, now);
  }

  /** Identifies the database: another one, or a copy restored elsewhere, has another name. */
  async databaseName(): Promise<string> {
    const { rows } = await sql<{ name: string }>`
      SELECT system_identifier || '/' || current_database() AS name FROM pg_control_system()`.execute(this.#db);
    return rows[0]?.name ?? "";
  }

  async close(): Promise<void> {
    this.cars.close();
    await this.#remote?.close();
  }

  async #add<T>(build: (car: CarFile) => Promise<Imported>, record: RecordIn<T>, work = new LongWork("")): Promise<T> {
    const car = await CarFile.create(await this.cars.incoming());
    try {
      const imported = await build(car);
      await car.seal(imported.root);
      await this.cars.publish(car);
      return await this.#commit(car, imported, record, work);
    } catch (error) {
      await car.discard();
      throw storageFault(error);
    }
  }

  async #commit<T>(car: CarFile, imported: Imported, record: RecordIn<T>, work: LongWork): Promise<T> {
    const { root, sizeBytes, entries, entryCount } = imported;
    const cid = root.toString();
    const row = { root: cid, file: car.id, sizeBytes: car.sizeBytes, blocks: car.blocks(), entries };
    const verify = async (db: Kysely<Database>, car: StoredCar) =>
      (await verifyCar(db, car, this.cars, () => work.pause())) === null;
    try {
      // The earlier file is read before the transaction, as it takes long; within it only if it was replaced meanwhile.
      const before = await findCar(this.#db, cid);
      const isWhole = before !== null && (await verify(this.#db, before));
      const [result, used] = await this.#db.transaction().execute(async (transaction) => {
        const { carId, used } = await recordCar(transaction, row, async (car) =>
          car.file === before?.file ? isWhole : await verify(transaction, car),
        );
        const content = { cid, carId, sizeBytes, rows: car.blockCount + entryCount, profile: profileName };
        return [await record(transaction, content), used] as const;
      });
      if (!used) await this.cars.remove(car.id).catch(() => undefined);
      return result;
    } catch (error) {
      // A commit without an answer may have taken effect: the file is removed only if the database does not know it.
      const isUnknown = await recordedFiles(this.#db, [car.id]).then(
        ({ size }) => size === 0,
        () => false,
      );
      // If this fails, a sweep removes it.
      if (isUnknown) await this.cars.remove(car.id).catch(() => undefined);
      throw error;
    }
  }
}

/** The CAR storage of this installation; nothing is touched before its first use. */
export function openCars(config: Config): CarStorage {
  const folder = ipfsDir(config);
  return config.ipfs.store ? new S3Cars(config.ipfs.store, folder) : new LocalCars(folder);
}

/** Opens the content store of this installation; nothing is touched before the first upload or read. */
export function openContentStore(config: Config, db: Kysely<Database>): ContentStore {
  const { gatewayFetch, fetchGateways: gateways } = config.ipfs;
  const cars = openCars(config);
  if (!gatewayFetch || gateways.length === 0) return new ContentStore(cars, db);
  const fetcher = createFetcher({ allowPrivate: config.allowPrivateFetch }, new HostLimits(remoteBounds));
  const remote = new RemoteBlocks({ gateways, fetcher, requestBytes: config.limits.fileBytes });
  return new ContentStore(cars, db, remote);
}

/** Concurrent requests to the operator's gateways. A host that the operator named may have four times as many. */
const remoteBounds = { perHost: 4, total: 16 };

/** Names in a path below a CID that is requested from gateways. */
const longestPath = 32;

function storageFault(cause: unknown): unknown {
  const code = (cause as NodeJS.ErrnoException | null)?.code;
  if (code === "EROFS")
    return new ServiceError("service_unavailable", "the store cannot be written; ask the operator", { cause });
  if (code !== "ENOSPC" && code !== "EDQUOT") return cause;
  return new ServiceError("storage_full", "the disk of this installation is full; nothing of this upload was kept", {
    retryAfterSeconds: 60,
    cause,
  });
}
