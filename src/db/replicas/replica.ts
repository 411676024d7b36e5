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
  /** It lacks what the primary had longer ago than `REPLICA_MAX_LAG_SECONDS`. */
  | "behind"
  /** It takes writes: it was promoted, or never was a standby. */
  | "not_a_standby"
  /** It follows another primary. */
  | "another_database"
  /** Good again; it gets reads with the next look. */
  | "joining";

export interface ReplicaStatus {
  /** Its position in `DATABASE_REPLICA_URLS`, from 1; its URL stays private. */
  replica: string;
  trouble: ReplicaTrouble | null;
  lagSeconds: number | null;
  /** Reads that it answered since the process started. */
  reads: number;
}

/** How a pool is made: see `createPool`. */
export interface ReplicaOptions {
  processName: string;
  tenants: boolean;
  /** See `openReads`. */
  heavyReads: number;
  limits: ReadLimits;
  time: DatabaseTime | null;
  maxLagSeconds: number;
  /** Called whenever a replica begins to get reads (null) and whenever it gets none any more. */
  report?: (replica: string, trouble: ReplicaTrouble | null) => void;
}

type Server = Reads & { pool: pg.Pool };

type Row = { standby: boolean; position: string | null; system: string };

const text = `SELECT pg_is_in_recovery() AS standby,
  pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::text AS position,
  (SELECT system_identifier FROM pg_control_system())::text AS system`;

/** One streaming standby and what is known of it. */
export class Replica {
  readonly #url: string;
  readonly #options: ReplicaOptions;
  readonly #probe: Probe<Row>;
  #server: Server;
  /** Who waits for an answer; they fail at once when the server is gone, as a socket may take minutes to. */
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

  /** Its heavy reads, under way and waiting. */
  get heavyReads(): PlanLoad {
    return this.#server.heavy.byPlan;
  }

  get answersReads(): boolean {
    return this.#state.trouble === null;
  }

  /** It answers reads, or will in a second: what holds for every server has to hold for it. */
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

  /** Finds out whether it may answer reads. After a trouble it takes two looks. */
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
    // Before the primary answered once, no replica can be compared with it.
    if (system === null || lagSeconds === null || lagSeconds > this.#options.maxLagSeconds) return "behind";
    return null;
  }

  /** It is gone: everybody who waits for it is sent elsewhere, and its connections are dropped. */
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
      // For looks at the index' head only: one at a time.
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

/** Samples are kept for as long as anybody could be behind and still be asked for how far. */
const keptMs = 600_000;

/**
 * Where the primary's log was at which time of this process's clock. A replica that has not replayed a
 * position yet is as old as that sample at least: no clock of another machine is believed, and a primary
 * where nothing is written lets no replica fall behind.
 */
export class PrimaryPositions {
  readonly #probe: Probe<{ position: string; system: string }>;
  #samples: Sample[] = [];
  /** Identifier that the primary shares with its standbys alone; null before it answered once. */
  system: string | null = null;

  constructor(databaseUrl: string, name: string) {
    this.#probe = new Probe(
      databaseUrl,
      name,
      `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::text AS position,
         (SELECT system_identifier FROM pg_control_system())::text AS system`,
    );
  }

  /** Records the position now. A primary that does not answer writes nothing that a replica could lack. */
  async look(): Promise<void> {
    const row = await this.#probe.ask().catch(() => null);
    if (!row) return;
    this.system = row.system;
    this.note(BigInt(row.position));
  }

  /** The primary's log is at this position now. */
  note(position: bigint): void {
    const now = performance.now();
    const newest = this.#samples.at(-1)?.position;
    // A standby took over that lacked the log's end. No replica will ever have that, so none is compared with it.
    this.#samples = this.#samples.filter((sample) => sample.position <= position);
    if (newest !== position) this.#samples.push({ position, at: now });
    // The newest one stays, however old: a replica that lacks it lacks it still.
    this.#samples = this.#samples.filter(({ at }, index, all) => at > now - keptMs || index === all.length - 1);
  }

  /** How long ago the primary was at a position that the replica has not reached, in seconds; 0: it lacks nothing. */
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
 * Asks one server one question again and again, over a connection of its own: a pool that is busy must not
 * look like a server that is dead.
 */
class Probe<R extends pg.QueryResultRow> {
  readonly #text: string;
  /** Of one connection, which is made anew after a question that failed. */
  readonly #pool: pg.Pool;

  constructor(url: string, name: string, text: string) {
    this.#text = text;
    this.#pool = new pg.Pool({
      ...{ connectionString: url, application_name: name, keepAlive: true, max: 1, idleTimeoutMillis: 0 },
      ...{ connectionTimeoutMillis: probeMs, query_timeout: probeMs },
    });
    // Raised when the server closes it between two questions; the next one finds out by itself.
    this.#pool.on("error", () => undefined);
  }

  /** @throws whatever keeps the server from answering within two seconds. */
  async ask(): Promise<R> {
    const { rows } = await this.#pool.query<R>(this.#text);
    if (!rows[0]) throw new Error("no row");
    return rows[0];
  }

  async end(): Promise<void> {
    // A socket that leads nowhere says no goodbye.
    await Promise.race([this.#pool.end(), sleep(200)]);
  }
}
