import { AsyncResource } from "node:async_hooks";
import type pg from "pg";
import { usualReadLimits } from "../../config/read-limits.ts";
import { FairQueue } from "../../fair-queue.ts";
import { requestAccount, requestEnd } from "../tenancy/tenant.ts";
import { cancelStatement } from "./cancel-statement.ts";
import { isCancelled, readTimeout, tooManyReads } from "./read-errors.ts";

/** What answers statements, each by itself. */
export interface StatementRunner {
  readonly running: number;
  readonly waiting: number;
  /** @param limitMs of the statement and the wait for a connection together; absent: as long as a read may take. */
  query<R extends pg.QueryResultRow>(query: pg.QueryConfig, limitMs?: number): Promise<pg.QueryResult<R>>;
  end(): Promise<void>;
}

interface Turn {
  account: string;
  start: () => void;
}

/** A statement that was cancelled and does not end is given up after so long, with its connection. */
const stuckMs = 2_000;

/**
 * A small number of connections for reads of one kind. Further statements wait in a bounded queue in which accounts
 * take turns. A statement whose time is over, or whose client has gone, is cancelled; one that still
 * waits is never begun.
 */
export class ReadConnections implements StatementRunner {
  readonly #pool: pg.Pool;
  readonly #queue: FairQueue<Turn>;
  readonly #most: number;
  readonly #limitMs: number;
  #running = 0;

  /**
   * @param pool of `most` connections, for nothing else.
   * @param limitMs how long a statement may take that brings no limit of its own.
   */
  constructor(
    pool: pg.Pool,
    { most, waiting, limitMs = usualReadLimits.read }: { most: number; waiting: number; limitMs?: number },
  ) {
    this.#pool = pool;
    this.#most = most;
    this.#limitMs = limitMs;
    this.#queue = new FairQueue(waiting);
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  /** @throws ServiceError `read_timeout`, `service_unavailable` for a queue that is full; pg's errors. */
  async query<R extends pg.QueryResultRow>(
    query: pg.QueryConfig,
    limitMs: number = this.#limitMs,
  ): Promise<pg.QueryResult<R>> {
    const end = requestEnd();
    if (end?.reason) throw end.reason;
    return await new Promise<pg.QueryResult<R>>((done, failed) => {
      let over: Error | null = null;
      let onOver = () => {};
      const stop = (reason: Error) => {
        if (over) return;
        over = reason;
        settle();
        // The caller gets the error at once; the connection is free when its server has ended the statement.
        failed(reason);
        onOver();
      };
      const timer = setTimeout(() => stop(readTimeout(limitMs)), limitMs);
      const forget = end?.onEnd(stop);
      const settle = () => {
        clearTimeout(timer);
        forget?.();
      };
      const turn: Turn = {
        account: requestAccount(),
        // It may be started when another request ends, whose tenant and span are not its own.
        start: AsyncResource.bind(() => {
          this.#running += 1;
          const run = this.#run<R>(query, (cancel) => {
            onOver = cancel;
            return over;
          });
          run
            .then(done, (error) => failed(isCancelled(error) ? readTimeout(limitMs, error) : error))
            .finally(() => {
              settle();
              this.#running -= 1;
              this.#next();
            });
        }),
      };
      if (this.#running < this.#most) return turn.start();
      onOver = () => this.#queue.remove(turn.account, turn);
      if (!this.#queue.push(turn.account, turn)) stop(tooManyReads());
    });
  }

  async end(): Promise<void> {
    await this.#pool.end();
  }

  #next(): void {
    while (this.#running < this.#most) {
      const turn = this.#queue.shift();
      if (!turn) return;
      turn.start();
    }
  }

  /** @param watch takes what cancels the statement; gives the reason when it need not be begun. */
  async #run<R extends pg.QueryResultRow>(
    query: pg.QueryConfig,
    watch: (cancel: () => void) => Error | null,
  ): Promise<pg.QueryResult<R>> {
    const client = await this.#pool.connect();
    let [active, cancelled] = [true, false];
    try {
      return await new Promise<pg.QueryResult<R>>((done, failed) => {
        const over = watch(() => {
          if (!active) return;
          cancelled = true;
          cancelStatement(client);
          const stuck = () => failed(new Error("Connection terminated: a cancelled statement did not end"));
          setTimeout(stuck, stuckMs).unref();
        });
        if (over) return failed(over);
        client.query<R>(query).then(done, failed);
      });
    } finally {
      active = false;
      // A cancel request that comes late would end the next statement of the same connection.
      client.release(cancelled);
    }
  }
}
