import type pg from "pg";
import { isRecording, startClientSpan } from "../../telemetry/span.ts";
import { statementSpan } from "../../telemetry/trace-sql.ts";
import type { RawRow } from "../pool/raw-row.ts";
import { isCancelled, readLimitMs, readTimeout } from "../pool/read-limits.ts";
import { requestEnd } from "../tenancy/tenant.ts";
import { Lane, lateError, type Question, type Read } from "./pipelined-connection.ts";
import type { WireValue } from "./wire.ts";

/** Runs reads whose answer is one row. */
export interface ReadLanes {
  /**
   * @param text of a statement without rows of tenants: a lane belongs to no account.
   * @returns null: no row.
   * @param once the text will hardly come again: it is not kept prepared.
   * @throws ServiceError `read_timeout`; pg.DatabaseError, or an Error in `pg`'s words when the connection cannot be
   *   made or breaks.
   */
  first(text: string, values: readonly WireValue[], once?: boolean): Promise<RawRow | null>;
  close(): void;
}

const maxLanes = 6;
/** Reads in one lane at a time: its server has the next one when it ends one, and a slow one keeps few waiting. */
const depth = 4;
/** How long a read waits for a lane: as long as it may take there. */
const patienceMs = readLimitMs;
const tickMs = 1_000;

/**
 * Connections for hot reads. Up to `depth` reads wait in one lane, sent without waiting for each other's
 * answers, so the server goes from one to the next without being woken; and values are handed on as bytes. Further
 * ones wait for whichever lane has room first: lanes are not equally fast.
 *
 * @param options of the pool beside it: the same login, role and time-outs.
 */
export function openReadLanes(options: pg.ClientConfig): ReadLanes {
  const lanes = new Set<Lane>();
  const queue: Question[] = [];
  const timer = setInterval(() => {
    const now = performance.now();
    for (const lane of lanes) lane.check(now);
    while (queue[0] && now - queue[0].askedAt > patienceMs) queue.shift()?.reject(lateError());
  }, tickMs).unref();
  let closed = false;

  function pick(): Lane | null {
    let best: Lane | null = null;
    for (const lane of lanes) if (lane.usable && (best === null || lane.waiting < best.waiting)) best = lane;
    if (best && (best.waiting === 0 || lanes.size >= maxLanes)) return best.waiting < depth ? best : null;
    const lane = new Lane(options, serve, (error) => {
      lanes.delete(lane);
      // With no other lane left it is the database that is away, and those that wait need not find out one by one.
      if (lanes.size === 0) for (const { reject } of queue.splice(0)) reject(error);
      else serve();
    });
    lanes.add(lane);
    return lane;
  }

  function serve(): void {
    while (!closed && queue.length > 0) {
      const lane = pick();
      const question = lane && queue.shift();
      if (!question) return;
      // Whoever asked has gone: it is not begun.
      const gone = question.end?.reason;
      if (gone) question.reject(gone);
      else lane.ask(question);
    }
  }

  async function ask(read: Read): Promise<RawRow | null> {
    return await new Promise((resolve, reject) => {
      queue.push({ ...read, end: requestEnd(), askedAt: performance.now(), row: null, error: null, resolve, reject });
      serve();
    });
  }

  return {
    async first(text, values, once = false) {
      if (closed) throw closedError();
      const end = isRecording() ? startClientSpan(...statementSpan(text)) : null;
      try {
        const row = await ask({ text, values, once });
        end?.();
        return row;
      } catch (error) {
        end?.(error);
        throw isCancelled(error) ? readTimeout(readLimitMs, error) : error;
      }
    },
    close() {
      closed = true;
      clearInterval(timer);
      for (const { reject } of queue.splice(0)) reject(closedError());
      for (const lane of lanes) lane.end();
    },
  };
}

// In the words of pg, by which `asUnavailable` knows them.
const closedError = () => new Error("Connection terminated: the reader is closed");
