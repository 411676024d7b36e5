import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { ReadLimits } from "../../config/read-limits.ts";
import type { DatabaseTime } from "../pool/database-time.ts";
import { closeReads, openReads, type Reads } from "../pool/open-reads.ts";
import { createPool } from "../pool/pool.ts";
import type { PlanLoad } from "../pool/read-connections.ts";

/** Why a replica gets no reads. */
export type ReplicaTrouble =
  /** It does not answer, or refuses the login. */
  | "unreachable"
  /** It lacks data that the primary has had for more than `REPLICA_MAX_LAG_SECONDS`. */
  | "behind"
  /** It accepts writes: it was promoted, or never was a standby. */
  | "not_a_standby"
  /** It follows another primary. */
  | "another_database"
  /** Fit again; it gets reads after the next look. */
  | "joining";

export interface ReplicaStatus {
  /** Its position in `DATABASE_REPLICA_URLS`, from 1; its URL stays private. */
  replica: string;
  trouble: ReplicaTrouble | null;
  lagSeconds: number | null;
  /** Reads that it answered since the process started. */
  reads: number;
}

/** How its pools are made: see `createPool`. */
export interface ReplicaOptions {
  processName: string;
  tenants: boolean;
  /** See `openReads`. */
  heavyReads: number;
  limits: ReadLimits;
  time: DatabaseTime | null;
  maxLagSeconds: number;
  /** Called whenever a replica starts to get reads (null) and whenever it stops to. */
  report?: (replica: string, trouble: ReplicaTrouble | null) => void;
}

type Server = Reads & { pool: pg.Pool };

type Row = { standby: boolean; position: string | null; system: string };

const text = `SELECT pg_is_in_recovery() AS standby,
  pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::text AS position,
  (SELECT system_identifier FROM pg_control_system())::text AS system`;

/** One streaming standby, and its known state. */
export class Replica {
  readonly #url: string;
  readonly #options: ReplicaOptions;
  readonly #probe: Probe<Row>;
  #server: Server;
  /** Waiting reads; they fail at once when the server is gone, because its sockets may take minutes to fail. */
  readonly #waiting = new Set<(error: Error) => void>();
  #state: ReplicaStatus;
  #reported: ReplicaTrouble | null | undefined;

  constructor(position: number, url: string, options: ReplicaOptions) {
    this.#url = url;
    this.#options = options;
    this.#probe = new Probe(url, `mintyard-${options.processName}-probe`, text);
    this.#server = this.#open();
    this.#state = { replica: String(position), trouble: "unreachable", lagSeconds: null, reads: 0 };
  }

  get status(): ReplicaStatus {
    return { ...this.#state };
  }

  /** Its heavy reads, running and waiting. */
  get heavyReads(): PlanLoad {
    return this.#server.heavy.byPlan;
  }

  get answersReads(): boolean {
    return this.#state.trouble === null;
  }

  /** It answers reads, or will in a second: a statement about all servers has to include it. */
  get counts(): boolean {
    return this.answersReads || this.#state.trouble === "joining";
  }

  async ask<T>(question: (server: Server) => Promise<T>): Promise<T> {
    const answer = await new Promise<T>((done, failed) => {
      this.#waiting.add(failed);
      question(this.#server)
        .then(done, failed)
        .finally(() => this.#waiting.delete(failed));
    });
    this.#state.reads += 1;
    return answer;
  }

  /** Checks whether it may answer reads. After a trouble, two looks have to succeed. */
  async look(primary: PrimaryPositions): Promise<void> {
    const row = await this.#probe.ask().catch(() => null);
    if (!row) return this.giveUp();
    const lagSeconds = row.position === null ? null : primary.lagOf(BigInt(row.position));
    this.#state.lagSeconds = row.standby ? lagSeconds : null;
    const trouble = this.#troubleOf(row, primary.system, lagSeconds);
    this.#state.trouble = trouble ?? (this.counts ? null : "joining");
    this.#report();
  }

  #report(): void {
    const { replica, trouble } = this.#state;
    if (trouble === "joining" || trouble === this.#reported) return;
    this.#reported = trouble;
    this.#options.report?.(replica, trouble);
  }

  #troubleOf(row: Row, system: string | null, lagSeconds: number | null): ReplicaTrouble | null {
    if (!row.standby) return "not_a_standby";
    if (system !== null && row.system !== system) return "another_database";
    // Before the primary has answered once, no replica can be compared with it.
    if (system === null || lagSeconds === null || lagSeconds > this.#options.maxLagSeconds) return "behind";
    return null;
  }

  /** It is gone: all reads that wait for it are sent elsewhere, and its connections are dropped. */
  giveUp(): void {
    const known = this.#state.trouble === "unreachable";
    this.#state.trouble = "unreachable";
    this.#report();
    if (known) return;
    this.#state.lagSeconds = null;
    const old = this.#server;
    this.#server = this.#open();
    for (const failed of this.#waiting) failed(new Error("Connection terminated: the replica is away"));
    this.#waiting.clear();
    void closeReads(old).catch(() => undefined);
    void old.pool.end().catch(() => undefined);
  }

  async end(): Promise<void> {
    await Promise.all([this.#probe.end(), closeReads(this.#server), this.#server.pool.end()]);
  }

  #open(): Server {
    const { processName, tenants, heavyReads, limits, time } = this.#options;
    const name = `${processName}-replica`;
    return {
      // Only for reads of the index's head: one at a time.
      pool: createPool(this.#url, name, 1, { tenants }),
      ...openReads(this.#url, name, { tenants, heavyReads, limits, time }),
    };
  }
}

interface Sample {
  /** Bytes of the write-ahead log that the primary had written. */
  position: bigint;
  at: number;
}

/** Samples are kept for as long as a replica's lag may be asked for. */
const keptMs = 600_000;

/**
 * The position of the primary's log at times of this process's clock. A replica that has not replayed a position yet is
 * at least as old as that sample. So no other machine's clock is trusted, and while the primary writes nothing, no
 * replica falls behind.
 */
export class PrimaryPositions {
  readonly #probe: Probe<{ position: string; system: string }>;
  #samples: Sample[] = [];
  /** System identifier that only the primary and its standbys share; null before the primary has answered once. */
  system: string | null = null;

  constructor(databaseUrl: string, name: string) {
    this.#probe = new Probe(
      databaseUrl,
      name,
      `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::text AS position,
         (SELECT system_identifier FROM pg_control_system())::text AS system`,
    );
  }

  /** Records the current position. A primary that does not answer writes nothing that a replica could lack. */
  async look(): Promise<void> {
    const row = await this.#probe.ask().catch(() => null);
    if (!row) return;
    this.system = row.system;
    this.note(BigInt(row.position));
  }

  /** Records that the primary's log is at this position now. */
  note(position: bigint): void {
    const now = performance.now();
    const newest = this.#samples.at(-1)?.position;
    // A standby was promoted that lacked the end of the log. No replica will ever have it, so none is compared.
    this.#samples = this.#samples.filter((sample) => sample.position <= position);
    if (newest !== position) this.#samples.push({ position, at: now });
    // The newest sample stays, however old: a replica that lacks it still lacks it.
    this.#samples = this.#samples.filter(({ at }, index, all) => at > now - keptMs || index === all.length - 1);
  }

  /** Seconds since the primary was at a position that the replica has not reached; 0: the replica lacks nothing. */
  lagOf(replayed: bigint): number {
    const lacking = this.#samples.find(({ position }) => position > replayed);
    return lacking ? (performance.now() - lacking.at) / 1_000 : 0;
  }

  async end(): Promise<void> {
    await this.#probe.end();
  }
}

const probeMs = 1_000;

/**
 * Sends one server the same query again and again, on a connection of its own: a busy pool must not look like a dead
 * server.
 */
class Probe<R extends pg.QueryResultRow> {
  readonly #text: string;
  /** Of one connection, which is opened anew after a query that failed. */
  readonly #pool: pg.Pool;

  constructor(url: string, name: string, text: string) {
    this.#text = text;
    this.#pool = new pg.Pool({
      ...{ connectionString: url, application_name: name, keepAlive: true, max: 1, idleTimeoutMillis: 0 },
      ...{ connectionTimeoutMillis: probeMs, query_timeout: probeMs },
    });
    // Raised when the server closes the connection between two queries; the next query fails or reconnects by itself.
    this.#pool.on("error", () => undefined);
  }

  /** @throws whatever keeps the server from answering within two seconds. */
  async ask(): Promise<R> {
    const { rows } = await this.#pool.query<R>(this.#text);
    if (!rows[0]) throw new Error("no row");
    return rows[0];
  }

  async end(): Promise<void> {
    // A connection whose server is gone may never finish closing.
    await Promise.race([this.#pool.end(), sleep(200)]);
  }
}
