import type pg from "pg";
import { usualReadLimits } from "../../config/read-limits.ts";
import { shortReads } from "../../long-work.ts";
import { isRecording, startClientSpan } from "../../telemetry/span.ts";
import { statementSpan } from "../../telemetry/trace-sql.ts";
import type { RawRow } from "../pool/raw-row.ts";
import { isCancelled, readTimeout } from "../pool/read-errors.ts";
import { requestEnd } from "../tenancy/tenant.ts";
import { lateError, PipelinedConnection, type Question } from "./pipelined-connection.ts";
import type { WireValue } from "./wire.ts";

/** Runs reads whose answer is one row. */
export interface PipelinedConnections {
  /**
   * @param text of a statement that reads no tenant's rows: a pipelined connection belongs to no account.
   * @returns null: no row.
   * @param once the text is unlikely to come again, so the statement is not kept prepared.
   * @throws ServiceError `read_timeout`; pg.DatabaseError, or an Error worded as `pg` does when the connection cannot
   * be made or breaks.
   */
  first(text: string, values: readonly WireValue[], once?: boolean): Promise<RawRow | null>;
  close(): void;
}

const maxConnections = 6;
/** Reads on one connection at a time: the server always has the next one at hand, and a slow read delays few others. */
const depth = 4;
const tickMs = 1_000;

/**
 * Connections for fast-path reads. Up to `depth` reads are pipelined on one connection, that is, sent without waiting
 * for each other's answers, so the server goes from one to the next without being woken. Values are passed on as bytes.
 * Further reads wait for the first connection that has capacity.
 *
 * @param options of the pool for other reads: the same login, role and time-outs.
 * @param limitMs how long a read may take, and how long it may wait for a connection.
 */
export function openPipelinedConnections(
  options: pg.ClientConfig,
  limitMs: number = usualReadLimits.read,
): PipelinedConnections {
  const connections = new Set<PipelinedConnection>();
  const queue: Question[] = [];
  const timer = setInterval(() => {
    const now = performance.now();
    for (const connection of connections) connection.check(now);
    while (queue[0] && now - queue[0].askedAt > limitMs) queue.shift()?.reject(lateError());
  }, tickMs).unref();
  let closed = false;

  function pick(): PipelinedConnection | null {
    let best: PipelinedConnection | null = null;
    for (const connection of connections)
      if (connection.usable && (best === null || connection.waiting < best.waiting)) best = connection;
    if (best && (best.waiting === 0 || connections.size >= maxConnections)) return best.waiting < depth ? best : null;
    const connection = new PipelinedConnection(options, serve, (error) => {
      connections.delete(connection);
      // When no other connection is left, the database is away: all waiting reads fail now instead of one by one.
      if (connections.size === 0) for (const { reject } of queue.splice(0)) reject(error);
      else serve();
    });
    connections.add(connection);
    return connection;
  }

  function serve(): void {
    while (!closed && queue.length > 0) {
      const connection = pick();
      const question = connection && queue.shift();
      if (!question) return;
      // The client has gone: its read is not begun.
      const gone = question.end?.reason;
      if (gone) question.reject(gone);
      else connection.ask(question);
    }
  }

  return {
    // Only one promise per read: each further one costs as much as a value of the row.
    first(text, values, once = false) {
      return new Promise((resolve, reject) => {
        if (closed) return reject(closedError());
        const span = isRecording() ? startClientSpan(...statementSpan(text)) : null;
        shortReads.underWay += 1;
        queue.push({
          ...{ text, values, once, end: requestEnd(), askedAt: performance.now(), row: null, error: null },
          resolve(row) {
            shortReads.underWay -= 1;
            span?.();
            resolve(row);
          },
          reject(error) {
            shortReads.underWay -= 1;
            span?.(error);
            reject(isCancelled(error) ? readTimeout(limitMs, error) : error);
          },
        });
        serve();
      });
    },
    close() {
      closed = true;
      clearInterval(timer);
      for (const { reject } of queue.splice(0)) reject(closedError());
      for (const connection of connections) connection.end();
    },
  };
}

// Worded as `pg` does: `asUnavailable` recognises it by that.
const closedError = () => new Error("Connection terminated: the reader is closed");
