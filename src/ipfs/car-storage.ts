import { ServiceError } from "../errors/errors.ts";
import type { CarFile } from "./car-file.ts";

/** Bytes of a file or of a CAR. */
export interface ByteRange {
  offset: number;
  length: number;
}

/** What the database knows of the files that a sweep meets. */
export interface Records {
  /** Those of the given ids that are in the database. When it throws, nothing is removed. */
  known(files: string[]): Promise<ReadonlySet<string>>;
  /** Identifies this database: another one, or a copy restored elsewhere, has another name. */
  databaseName(): Promise<string>;
}

/**
 * Keeps CAR files, by the id in their rows. The local folder and S3 implement it; nothing else in the service depends
 * on which of them is used. A CAR never changes under its id.
 *
 * @throws in every method ServiceError `service_unavailable` with `retryAfterSeconds` while the store is away.
 */
export interface CarStorage {
  /** A folder on this machine where CARs are written before they are published. It is made at the first call. */
  incoming(): Promise<string>;
  /** Stores a sealed CAR under its id. When this resolves, all of its bytes are durable, even after a power cut. */
  publish(car: CarFile): Promise<void>;
  /** Removes a CAR. A missing one is no error. */
  remove(file: string): Promise<void>;
  /**
   * Bytes of a CAR; null if it ends before the last of them. The caller checks them: they may be of a local copy.
   *
   * @param fresh whether they have to come from the store itself, because the copy was wrong.
   * @throws an error that says that the CAR is missing or not readable.
   */
  read(file: string, position: number, length: number, fresh?: boolean): Promise<Buffer | null>;
  /** Whether `read` may give a copy, so that `fresh` can help. */
  readonly keepsCopies: boolean;
  /** Opens a CAR to be read from its first byte to its last, without any copies; null if it is missing. */
  open(file: string): Promise<OpenCar | null>;
  /** The bytes of a CAR as they are stored. @throws ServiceError `service_unavailable` where they cannot be read. */
  stream(file: string, range?: ByteRange): AsyncIterable<Uint8Array>;
  /** Gives `use` a CAR as a blob that is read as it is consumed. The blob is valid until `use` resolves. */
  withBlob<T>(file: string, use: (car: Blob) => Promise<T>): Promise<T>;
  /**
   * Removes the remains of uploads by dead processes. Files that may belong to a running upload stay. A CAR that no row
   * names is kept for another week.
   *
   * @returns how many files were removed or put aside.
   * @throws Error with a sentence for the operator where the sweep must not run.
   */
  sweep(records: Records, now: number): Promise<number>;
  /** Milliseconds between two sweeps. */
  readonly sweepEveryMs: number;
  /** Copies every CAR into a backup folder, and back. The folder's layout is the same for every kind of storage. */
  copyOut(folder: string): Promise<void>;
  copyIn(folder: string): Promise<void>;
  /**
   * Writes a probe, reads a range of it, and removes it.
   *
   * @param database names the database whose content this is: that of another one must not be touched.
   * @throws ConfigError with one sentence that names the wrong setting; ServiceError while the store is away.
   */
  check(database?: () => Promise<string>): Promise<void>;
  /** What is wrong with the store now, in one sentence for the operator; null if it answers. */
  trouble(): Promise<string | null>;
  /** Figures of a store on the network; null for the local folder. */
  readonly figures: StoreFigures | null;
  close(): void;
}

export interface OpenCar {
  readonly size: number;
  /** @returns null if it ends before the last of these bytes. */
  read(position: number, length: number): Promise<Buffer | null>;
  close(): Promise<void>;
}

/** The store is away; a retry in a moment may succeed. `cause` has the sentence for the operator. */
export class StoreAway extends ServiceError {
  constructor(cause: unknown) {
    super("service_unavailable", "the store of this installation's files does not answer; try again", {
      retryAfterSeconds: 5,
      cause,
    });
  }
}

/** Figures of requests to S3 and its cache, for metrics. */
export interface StoreFigures {
  /** Called after each request to the store. */
  onRequest: ((operation: string, result: "ok" | "refused" | "away", seconds: number) => void) | null;
  cacheHits: number;
  cacheMisses: number;
}
