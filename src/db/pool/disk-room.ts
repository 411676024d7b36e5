import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import type pg from "pg";
import type { Config } from "../../config/config.ts";
import { ServiceError } from "../../errors/errors.ts";
import type { Logger } from "../../telemetry/log.ts";
import { readCached } from "../../telemetry/metrics.ts";

/** How long one measurement is reused. The marks leave enough space for what is written meanwhile. */
const keptMs = 5_000;

/** Which mark is exceeded, for logs and readiness. */
type PassedMark = "data_folder" | "database" | "free_accounts";

export interface DiskStatus {
  /** Free space on the data folder's file system. */
  freeBytes: number;
  /** Size of that file system; 0 while it cannot be measured. */
  sizeBytes: number;
  /** Null when it is not measured, or not known. */
  databaseBytes: number | null;
  /** Uploads and allowlists of all free-tier accounts; null while not known. */
  freeAccountsBytes: number | null;
  full: PassedMark[];
}

/**
 * Whether there is space for more: on the data folder's file system, in the database, and in the total of free
 * accounts. Requests that would take more are refused before the disk is full, because PostgreSQL and the relayer need
 * the rest for work under way.
 */
export class DiskRoom {
  readonly #limits: Config["disk"];
  readonly #folder: string;
  readonly #pool: pg.Pool;
  readonly #log: Logger;
  #reported = "";
  /** Never fails: what cannot be measured exceeds no mark, and the write itself then reports what is wrong. */
  readonly status = readCached(keptMs, () => this.#measure());

  constructor(config: Pick<Config, "disk" | "dataDir">, pool: pg.Pool, log: Logger) {
    this.#limits = config.disk;
    this.#folder = config.dataDir;
    this.#pool = pool;
    this.#log = log;
  }

  /**
   * Refuses a write that would store more. Reads, and work that was already accepted, go on.
   *
   * @param ofFreeAccount whether a free account would own the data: these share a bound of their own.
   * @throws ServiceError `storage_full`.
   */
  async requireRoom(ofFreeAccount: boolean): Promise<void> {
    const { full } = await this.status();
    if (full.some((mark) => mark !== "free_accounts"))
      throw new ServiceError(
        "storage_full",
        "this installation's storage is nearly full: it takes no uploads, presale lists and accounts until its operator makes room; reads and deployments under way go on",
        { retryAfterSeconds: 60 },
      );
    if (ofFreeAccount && full.includes("free_accounts"))
      throw new ServiceError(
        "storage_full",
        "what this installation keeps for free accounts together is used up; ask the operator, or use an account of another plan",
        { retryAfterSeconds: 60 },
      );
  }

  async #measure(): Promise<DiskStatus> {
    const { minFreeBytes, databaseBytes: databaseLimit, freeAccountsBytes: freeLimit } = this.#limits;
    const [{ freeBytes, sizeBytes }, used] = await Promise.all([measure(this.#folder), this.#used(databaseLimit > 0)]);
    const databaseBytes = used?.database ?? null;
    const freeAccountsBytes = used?.free ?? null;
    const full: PassedMark[] = [];
    if (freeBytes < minFreeBytes) full.push("data_folder");
    if (databaseLimit > 0 && databaseBytes !== null && databaseBytes >= databaseLimit) full.push("database");
    if (freeLimit > 0 && freeAccountsBytes !== null && freeAccountsBytes >= freeLimit) full.push("free_accounts");
    const status = { freeBytes, sizeBytes, databaseBytes, freeAccountsBytes, full };
    this.#report(status);
    return status;
  }

  async #used(measureDatabase: boolean): Promise<{ free: number; database: number | null } | null> {
    if (this.#pool.ended) return null;
    const asked = this.#pool.query<{ free: string; database: string | null }>({
      name: "storage-in-use",
      text: "SELECT free_bytes::text AS free, database_bytes::text AS database FROM service.storage_in_use($1)",
      values: [measureDatabase],
    });
    const row = await asked.then(
      ({ rows }) => rows[0],
      () => undefined,
    );
    return row ? { free: Number(row.free), database: row.database === null ? null : Number(row.database) } : null;
  }

  #report({ full, ...sizes }: DiskStatus): void {
    const now = full.join(" ");
    if (now === this.#reported) return;
    this.#reported = now;
    if (full.length > 0)
      this.#log.error({ full, ...sizes }, "storage is nearly full: uploads, presale lists and sign-ups are refused");
    else this.#log.info(sizes, "storage has room again");
  }
}

/** A folder that does not exist yet will be on its parent's file system. */
async function measure(folder: string): Promise<Pick<DiskStatus, "freeBytes" | "sizeBytes">> {
  for (let path = folder; ; path = dirname(path)) {
    const info = await statfs(path).catch(() => null);
    if (info) return { freeBytes: info.bavail * info.bsize, sizeBytes: info.blocks * info.bsize };
    if (dirname(path) === path) return { freeBytes: Number.POSITIVE_INFINITY, sizeBytes: 0 };
  }
}
