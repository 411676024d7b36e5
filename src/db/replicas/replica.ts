import type pg from "pg";
import type { ReadLimits } from "../../config/read-limits.ts";
import type { DatabaseTime } from "../pool/database-time.ts";
import { closeReads, openReads, type Reads } from "../pool/open-reads.ts";
import { createPool } from "../pool/pool.ts";
import type { PlanLoad } from "../pool/read-connections.ts";
import type { PrimaryPositions } from "./primary-positions.ts";
import { Probe } from "./probe.ts";

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
