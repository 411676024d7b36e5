import { ServiceError } from "../errors/errors.ts";
import type { CarFile } from "./car-file.ts";

/** Of a file, or of a CAR. */
export interface ByteRange {
  offset: number;
  length: number;
}

/** What the database says of the files that a sweep meets. */
export interface Records {
  /** Those of the given ids that rows name. When it throws, nothing is removed. */
  known(files: string[]): Promise<ReadonlySet<string>>;
  /** Names this database: another one, or one that was restored elsewhere, has another name. */
  databaseName(): Promise<string>;
}

/**
 * Where CAR files are kept, by the id that their rows name. The local folder and S3 implement it, and nothing else of the
 * service knows which of them it is. A CAR never changes under its id.
 *
 * @throws everywhere ServiceError `service_unavailable` with `retryAfterSeconds` while what keeps the files is away.
 */
export interface CarStorage {
  /** A folder of this machine in which CARs are written before they are published; it is made when it is first asked for. */
  incoming(): Promise<string>;
  /** Keeps a sealed CAR under its id. When this resolves, all of its bytes are kept, and a power cut does not lose them. */
  publish(car: CarFile): Promise<void>;
  /** Removes a CAR; one that is not there is no error. */
  remove(file: string): Promise<void>;
  /**
   * Bytes of a CAR; null: it ends before the last of them. They may come from a copy on this machine, so the caller checks them.
   *
   * @param fresh they have to come from the store itself: the copy was wrong.
   * @throws what says that the CAR is not there, or not readable.
   */
  read(file: string, position: number, length: number, fresh?: boolean): Promise<Buffer | null>;
  /** Whether `read` may give a copy, so that asking afresh can help. */
  readonly keepsCopies: boolean;
  /** A CAR to be read from its first byte to its last, past all copies; null: it is not there. */
  open(file: string): Promise<OpenCar | null>;
  /** The bytes of a CAR as they are kept. @throws ServiceError `service_unavailable` where they cannot be read. */
  stream(file: string, range?: ByteRange): AsyncIterable<Uint8Array>;
  /** Lends a CAR as a blob that is read while it is used; it is good until `use` has resolved. */
  withBlob<T>(file: string, use: (car: Blob) => Promise<T>): Promise<T>;
  /**
   * Clears away what uploads of dead processes left. What could belong to one under way stays, and a CAR that no row names is
   * kept for another week.
   *
   * @returns how many files went or were put aside.
   * @throws Error with a sentence for the operator where it must not be done.
   */
  sweep(records: Records, now: number): Promise<number>;
  /** Milliseconds between two sweeps. */
  readonly sweepEveryMs: number;
  /** Copies every CAR into a folder of a backup, and back. The folder is the same for every kind of storage. */
  copyOut(folder: string): Promise<void>;
  copyIn(folder: string): Promise<void>;
  /**
   * Writes a probe, reads a range of it, and removes it.
   *
   * @param database names the one whose content this is: another one's must not be touched.
   * @throws ConfigError with one sentence that names the setting where it is wrong; ServiceError while the store is away.
   */
  check(database?: () => Promise<string>): Promise<void>;
  /** What is wrong with the store now, in one sentence for the operator; null for one that answers. */
  trouble(): Promise<string | null>;
  /** Of a store that is asked over the network; null for the local folder. */
  readonly figures: StoreFigures | null;
  close(): void;
}

export interface OpenCar {
  readonly size: number;
  /** @returns null: it ends before the last of these bytes. */
  read(position: number, length: number): Promise<Buffer | null>;
  close(): Promise<void>;
}

/** The store is away: asked again in a moment, it may answer. `cause` has the sentence for the operator. */
export class StoreAway extends ServiceError {
  constructor(cause: unknown) {
    super("service_unavailable", "the store of this installation's files does not answer; try again", {
      retryAfterSeconds: 5,
      cause,
    });
  }
}

/** What is read of S3 and its cache, for metrics. */
export interface StoreFigures {
  /** Called after each request to the store. */
  onRequest: ((operation: string, result: "ok" | "refused" | "away", seconds: number) => void) | null;
  cacheHits: number;
  cacheMisses: number;
}
