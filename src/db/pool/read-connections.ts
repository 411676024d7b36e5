import { AsyncResource } from "node:async_hooks";
import { connect } from "node:net";
import type pg from "pg";
import { usualReadLimits } from "../../config/read-limits.ts";
import { FairQueue } from "../../fair-queue.ts";
import type { Tier } from "../tables/accounts.ts";
import { type Reader, requestEnd, requestReader } from "../tenancy/tenant.ts";
import type { DatabaseTime } from "./database-time.ts";
import { isCancelled, readNotBegun, readTimeout, tooManyReads } from "./read-errors.ts";

/** The plan that a statement runs for; `none`: for this process itself. */
type ReaderPlan = Tier | "none";
export type PlanLoad = ReadonlyMap<ReaderPlan, { running: number; waiting: number }>;

/** Runs single statements, without transactions. */
export type StatementRunner = Pick<ReadConnections, "byPlan" | "query" | "end">;

interface Places {
  /** Statements that may run at once. */
  most: number;
  /** How many of these may be of free accounts and clients without a key, in total; absent: all. */
  mostOfFree?: number;
  /** Statements that may wait: so many of free accounts, and as many of all others. */
  waiting: number;
  /** How long a statement without a limit of its own may take. */
  limitMs?: number;
  /** How long a request's statements may wait in total. */
  waitMs?: number;
  /** Each account's budget of database time; absent: nobody is charged. */
  time?: DatabaseTime | null;
}

interface Turn {
  reader: Reader | null;
  begin: () => void;
  refuse: (reason: Error) => void;
}

/** A cancelled statement that does not end is given up after so long, with its connection. */
const stuckMs = 2_000;
/** A cancel request may overtake its statement, and the server drops one when there is nothing to cancel. */
const cancelAgainMs = 100;

const isFree = (reader: Reader | null) => reader?.tier === "free";

/**
 * A small number of connections for reads of one kind. Further statements wait in bounded queues in which accounts take
 * turns. Paying plans come first, and free accounts may use only some of the connections, so that others find one free.
 * A statement whose time is over, or whose client has gone, is cancelled; if it still waits, it is never begun.
 */
export class ReadConnections {
  readonly #pool: pg.Pool;
  readonly #places: Required<Places>;
  readonly #paid: FairQueue<Turn>;
  readonly #free: FairQueue<Turn>;
  readonly #load = new Map<ReaderPlan, { running: number; waiting: number }>();
  #running = 0;
  #runningFree = 0;

  /** @param pool of `most` connections, used for nothing else. */
  constructor(pool: pg.Pool, places: Places) {
    this.#pool = pool;
    const { read: limitMs, wait: waitMs } = usualReadLimits;
    this.#places = { mostOfFree: places.most, limitMs, waitMs, time: null, ...places };
    this.#paid = new FairQueue(places.waiting);
    this.#free = new FairQueue(places.waiting);
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#paid.length + this.#free.length;
  }

  get byPlan(): PlanLoad {
    return this.#load;
  }

  /**
   * @param limitMs of the statement, counted from its beginning; absent: the usual limit of a read.
   * @throws ServiceError `read_timeout`, `read_not_begun`, `service_unavailable` for a full queue,
   * `rate_limit_exceeded` for an account that has used up its time; pg's errors.
   */
  async query<R extends pg.QueryResultRow>(
    query: pg.QueryConfig,
    limitMs: number = this.#places.limitMs,
  ): Promise<pg.QueryResult<R>> {
    const end = requestEnd();
    if (end?.reason) throw end.reason;
    const reader = requestReader();
    const refusal = this.#places.time?.refusal(reader);
    if (refusal) throw refusal;
    const load = this.#loadOf(reader);
    return await new Promise<pg.QueryResult<R>>((done, failed) => {
      let over: Error | null = null;
      let onOver = () => {};
      let timer: NodeJS.Timeout | undefined;
      const stop = (reason: Error) => {
        if (over) return;
        over = reason;
        settle();
        // The caller gets the error at once; the connection becomes free when the server has ended the statement.
        failed(reason);
        onOver();
      };
      const forget = end?.onEnd(stop);
      const settle = () => {
        clearTimeout(timer);
        forget?.();
      };
      const begin = () => {
        onOver = () => {};
        this.#running += 1;
        load.running += 1;
        if (isFree(reader)) this.#runningFree += 1;
        timer = setTimeout(() => stop(readTimeout(limitMs)), limitMs);
        const begunAt = performance.now();
        const run = this.#run<R>(query, (cancel) => {
          onOver = cancel;
          return over;
        });
        run
          .then(done, (error) => failed(isCancelled(error) ? readTimeout(limitMs, error) : error))
          .finally(() => {
            settle();
            this.#places.time?.charge(reader, performance.now() - begunAt);
            this.#running -= 1;
            load.running -= 1;
            if (isFree(reader)) this.#runningFree -= 1;
            this.#next();
          });
      };
      if (this.#hasPlace(reader)) return begin();
      const { waitMs } = this.#places;
      const queue = isFree(reader) ? this.#free : this.#paid;
      const goOn = end?.wait();
      const leave = () => {
        load.waiting -= 1;
        clearTimeout(timer);
        goOn?.();
      };
      const turn: Turn = {
        reader,
        // It may be begun when another request ends, which has another tenant and span.
        begin: AsyncResource.bind(() => {
          leave();
          begin();
        }),
        refuse: (reason) => {
          leave();
          onOver = () => {};
          stop(reason);
        },
      };
      load.waiting += 1;
      timer = setTimeout(() => stop(readNotBegun(waitMs)), Math.max(0, waitMs - (end?.waitedMs ?? 0)));
      onOver = () => {
        leave();
        queue.remove(reader?.account ?? "", turn);
      };
      if (!queue.push(reader?.account ?? "", turn)) stop(tooManyReads());
    });
  }

  async end(): Promise<void> {
    await this.#pool.end();
  }

  #hasPlace(reader: Reader | null): boolean {
    if (this.#running >= this.#places.most) return false;
    return !isFree(reader) || this.#runningFree < this.#places.mostOfFree;
  }

  #next(): void {
    while (this.#running < this.#places.most) {
      const mayBeFree = this.#runningFree < this.#places.mostOfFree;
      const turn = this.#paid.shift() ?? (mayBeFree ? this.#free.shift() : undefined);
      if (!turn) return;
      // Earlier statements may have used up the account's time.
      const refusal = this.#places.time?.refusal(turn.reader);
      if (refusal) turn.refuse(refusal);
      else turn.begin();
    }
  }

  #loadOf(reader: Reader | null): { running: number; waiting: number } {
    const plan = reader?.tier ?? "none";
    const load = this.#load.get(plan) ?? { running: 0, waiting: 0 };
    this.#load.set(plan, load);
    return load;
  }

  /** @param watch gets the function that cancels the statement; returns a reason if the statement need not be begun. */
  async #run<R extends pg.QueryResultRow>(
    query: pg.QueryConfig,
    watch: (cancel: () => void) => Error | null,
  ): Promise<pg.QueryResult<R>> {
    const client = await this.#pool.connect();
    let active = true;
    let cancelling: NodeJS.Timeout | undefined;
    try {
      return await new Promise<pg.QueryResult<R>>((done, failed) => {
        const over = watch(() => {
          if (!active) return;
          cancelStatement(client);
          cancelling = setInterval(() => cancelStatement(client), cancelAgainMs);
          const stuck = () => failed(new Error("Connection terminated: a cancelled statement did not end"));
          setTimeout(stuck, stuckMs).unref();
        });
        if (over) return failed(over);
        client.query<R>(query).then(done, failed);
      });
    } finally {
      active = false;
      clearInterval(cancelling);
      // A cancel request that comes late would end the next statement of the same connection.
      client.release(cancelling !== undefined);
    }
  }
}

const timeoutMs = 2_000;

/** Properties of a connection that `pg` has but does not declare. */
interface Connected {
  host?: string;
  port?: number;
  processID?: number | null;
  secretKey?: number | null;
}

/**
 * Sends a CancelRequest for a connection's statement, on a connection of its own that does not count for
 * `max_connections`. Never fails: if it does not arrive, the statement ends by its `statement_timeout`.
 */
function cancelStatement(client: pg.ClientBase): void {
  const { host, port, processID, secretKey } = client as pg.ClientBase & Connected;
  if (!host || !port || !processID || secretKey == null) return;
  const bytes = Buffer.alloc(16);
  bytes.writeInt32BE(16, 0);
  // The number that marks a CancelRequest, in the position of the protocol version.
  bytes.writeInt32BE(80_877_102, 4);
  bytes.writeInt32BE(processID, 8);
  bytes.writeInt32BE(secretKey, 12);
  const socket = host.startsWith("/") ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  socket.on("error", () => undefined);
  socket.setTimeout(timeoutMs, () => socket.destroy());
  socket.once("connect", () => socket.end(bytes));
}
