import type { PostgresPool, PostgresPoolClient, PostgresQueryResult } from "kysely";
import pg from "pg";
import { ServiceError } from "../../errors/errors.ts";
import type { PipelinedConnections } from "../pipeline/pipelined-connections.ts";
import type { WireValue } from "../pipeline/wire.ts";
import type { PrimaryPositions, Replica, ReplicaStatus } from "../replicas/replica.ts";
import { readsOwnWrites } from "../tenancy/tenant.ts";
import { type RawRow, textRow } from "./raw-row.ts";
import type { PlanLoad, StatementRunner } from "./read-connections.ts";
import { isCancelled } from "./read-errors.ts";

const betweenLooksMs = 1_000;

/** The connections to one server. */
export interface Server {
  /** For the index's position, which every read waits for. */
  pool: Pick<pg.Pool, "query" | "end">;
  pipelined: PipelinedConnections;
  /** Reads that are not on the fast path. */
  reads: StatementRunner;
  /** Reads that may touch many rows: few at once, so that no other read waits for them. */
  heavy: StatementRunner;
}

/** Column values as PostgreSQL writes them. */
const asText = { getTypeParser: () => (text: string) => text };

/**
 * Answers reads of the index: in turn from the replicas that are fit for it, otherwise from the primary. A read that
 * fails on a replica is repeated on the primary, so losing a replica costs a request time and nothing else.
 *
 * Implements the interface of `pg.Pool` for Kysely, and `PipelinedConnections` for fast-path reads. Every statement may
 * run on another server, so there are no transactions, and a page may come from a server that is up to
 * `REPLICA_MAX_LAG_SECONDS` behind the previous page's.
 */
export class ReadPool implements PostgresPool, PipelinedConnections {
  readonly options = {};
  readonly #primary: Server;
  readonly #replicas: readonly Replica[];
  readonly #positions: PrimaryPositions | null;
  #turn = 0;
  #timer: NodeJS.Timeout | null = null;
  #ended = false;
  /** Reads that failed on a replica and that the primary answered. */
  fallbacks = 0;

  constructor(primary: Server, replicas: readonly Replica[] = [], positions: PrimaryPositions | null = null) {
    this.#primary = primary;
    this.#replicas = replicas;
    this.#positions = positions;
    if (positions) void this.#watch(positions);
  }

  query<R extends pg.QueryResultRow>(query: pg.QueryConfig): Promise<pg.QueryResult<R>> {
    return this.#ask(({ reads }) => reads.query<R>(query));
  }

  /**
   * A read that may touch many rows.
   *
   * @param limitMs for reports; absent: the usual limit of a read.
   * @param options `current`: from the primary.
   */
  heavy<R extends pg.QueryResultRow>(
    query: pg.QueryConfig,
    limitMs?: number,
    options: { current?: boolean } = {},
  ): Promise<pg.QueryResult<R>> {
    return options.current
      ? this.#primary.heavy.query<R>(query, limitMs)
      : this.#ask(({ heavy }) => heavy.query<R>(query, limitMs));
  }

  /** A read that may touch many rows, with one row of JSON as its answer; see `first`. */
  async heavyFirst(text: string, values: readonly WireValue[]): Promise<RawRow | null> {
    const query: pg.QueryArrayConfig = { text, values: [...values], rowMode: "array", types: asText };
    const { rows } = await this.heavy(query);
    const row = rows[0] as (string | null)[] | undefined;
    return row ? textRow(row) : null;
  }

  first(text: string, values: readonly WireValue[], once?: boolean): Promise<RawRow | null> {
    return this.#ask(({ pipelined }) => pipelined.first(text, values, once));
  }

  /**
   * The same query on every replica that answers reads now or after the next look; without one, on the primary. What
   * all of them agree on holds for whichever server answers a read, because the primary is never behind them.
   */
  async askEach<R extends pg.QueryResultRow>(query: pg.QueryConfig): Promise<R[][]> {
    const asked = this.#replicas
      .filter(({ counts }) => counts)
      .map((replica) => replica.ask(({ pool }) => pool.query<R>(query)));
    const answers = (await Promise.allSettled(asked)).flatMap((answer) =>
      answer.status === "fulfilled" ? [answer.value.rows] : [],
    );
    return answers.length > 0 ? answers : [(await this.#primary.pool.query<R>(query)).rows];
  }

  async connect(): Promise<PostgresPoolClient> {
    return new ReadClient(this);
  }

  /** Each replica, in the order of `DATABASE_REPLICA_URLS`. */
  replicas(): ReplicaStatus[] {
    return this.#replicas.map(({ status }) => status);
  }

  /** Reads that may touch many rows, by server. */
  heavyReads(): PlanLoad[] {
    return [this.#primary.heavy.byPlan, ...this.#replicas.map(({ heavyReads }) => heavyReads)];
  }

  close(): void {
    this.#primary.pipelined.close();
  }

  async end(): Promise<void> {
    this.#ended = true;
    if (this.#timer) clearTimeout(this.#timer);
    const { pool, reads, heavy } = this.#primary;
    await Promise.all([
      pool.end(),
      reads.end(),
      heavy.end(),
      this.#positions?.end(),
      ...this.#replicas.map((replica) => replica.end()),
    ]);
  }

  async #ask<T>(question: (server: Server) => Promise<T>): Promise<T> {
    const replica = this.#replicas.length === 0 || readsOwnWrites() ? null : this.#next();
    if (!replica) return await question(this.#primary);
    try {
      return await replica.ask(question);
    } catch (error) {
      // A read that took too long on the replica would take as long again.
      if (isCancelled(error) || error instanceof ServiceError) throw error;
      if (isGone(error)) replica.giveUp();
      this.fallbacks += 1;
      return await question(this.#primary);
    }
  }

  #next(): Replica | null {
    const { length } = this.#replicas;
    for (let tried = 0; tried < length; tried += 1) {
      this.#turn = (this.#turn + 1) % length;
      const replica = this.#replicas[this.#turn];
      if (replica?.answersReads) return replica;
    }
    return null;
  }

  async #watch(positions: PrimaryPositions): Promise<void> {
    // The primary first: what a replica has replayed by then may be newer, which does not count as behind.
    await positions.look();
    await Promise.all(this.#replicas.map((replica) => replica.look(positions)));
    if (this.#ended) return;
    this.#timer = setTimeout(() => void this.#watch(positions), betweenLooksMs);
    this.#timer.unref();
  }
}

/** Whether an error means that the server is away, and not that it refused the statement. */
function isGone(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return /^(08|57P)/.test(error.code ?? "");
  // All of the pool's connections are in use: the server is busy, but there.
  return !(error instanceof Error && error.message.startsWith("timeout exceeded when trying to connect"));
}

/** A connection with the interface that Kysely expects. */
class ReadClient implements PostgresPoolClient {
  readonly #pool: ReadPool;

  constructor(pool: ReadPool) {
    this.#pool = pool;
  }

  query<R>(sql: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<R>>;
  query(): never;
  query(sql?: unknown, parameters: readonly unknown[] = []): unknown {
    if (typeof sql !== "string" || /^\s*(begin|start transaction)/i.test(sql))
      throw new Error("reads of the index have neither transactions nor cursors");
    return this.#pool.query({ text: sql, values: [...parameters] });
  }

  release(): void {}
}
