import { Socket } from "node:net";
import pg from "pg";
import { JsonText } from "../json-text.ts";
import { isRecording, startClientSpan } from "../telemetry/span.ts";
import { statementSpan } from "../telemetry/trace-sql.ts";
import { touchesOwned } from "./tenant.ts";
import {
  errorFields,
  MessageReader,
  type Pieces,
  parseMessage,
  runMessage,
  terminateMessage,
  type WireValue,
} from "./wire.ts";

/** The first row of a result. Columns are counted from 0, in the order of the statement. */
export class RawRow {
  readonly #columns: readonly (Buffer[] | null)[];

  constructor(columns: readonly (Buffer[] | null)[]) {
    this.#columns = columns;
  }

  text(column: number): string | null {
    const pieces = this.#columns[column];
    if (!pieces) return null;
    const [first] = pieces;
    return pieces.length === 1 && first ? first.toString() : Buffer.concat(pieces).toString();
  }

  /** JSON that PostgreSQL wrote, as its bytes. */
  json(column: number): JsonText | null {
    const pieces = this.#columns[column];
    return pieces ? new JsonText(pieces) : null;
  }
}

/** Runs reads whose answer is one row. */
export interface ReadLanes {
  /**
   * @param text of a statement without rows of tenants: a lane belongs to no account.
   * @returns null: no row.
   * @param once the text will hardly come again: it is not kept prepared.
   * @throws pg.DatabaseError, or an Error in `pg`'s words when the connection cannot be made or breaks.
   */
  first(text: string, values: readonly WireValue[], once?: boolean): Promise<RawRow | null>;
  close(): void;
}

const maxLanes = 6;
/** Reads in one lane at a time: its server has the next one when it ends one, and a slow one keeps few waiting. */
const depth = 4;
/** Statements that a lane keeps prepared. Then a new one takes its place: which of them are still used is not known. */
const maxPrepared = 300;
/** A lane that gives no answer for so long has lost its server: every statement ends within 15 s there. */
const stuckMs = 25_000;
const idleMs = 60_000;
/** How long a read waits for a lane, as long as one waits for a connection of the pool. */
const patienceMs = 5_000;
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
      lane.ask(question);
    }
  }

  async function ask(read: Read): Promise<RawRow | null> {
    return await new Promise((resolve, reject) => {
      queue.push({ ...read, askedAt: performance.now(), row: null, error: null, resolve, reject });
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
        throw error;
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
const lateError = () => new Error("timeout exceeded when trying to connect");

interface Read {
  text: string;
  values: readonly WireValue[];
  once: boolean;
}

interface Question extends Read {
  askedAt: number;
  row: RawRow | null;
  error: pg.DatabaseError | null;
  resolve: (row: RawRow | null) => void;
  reject: (error: Error) => void;
}

/** One connection: opened and authenticated by `pg`, then spoken to directly. */
class Lane {
  usable = true;
  #corked = false;
  readonly #onRoom: () => void;
  readonly #onGone: (error: Error) => void;
  /** Asked and not answered, in the order in which they are answered. */
  readonly #questions: Question[] = [];
  /** Of the questions above. */
  readonly #unsent: Buffer[] = [];
  readonly #prepared = new Map<string, string>();
  #stream: Socket | null = null;
  #usedAt = performance.now();

  constructor(options: pg.ClientConfig, onRoom: () => void, onGone: (error: Error) => void) {
    this.#onRoom = onRoom;
    this.#onGone = onGone;
    const client = new pg.Client(options);
    // A connection that breaks closes its stream too, which is where it is seen here.
    client.on("error", () => undefined);
    client.connect().then(
      () => this.#open(client.connection.stream),
      (error: Error) => this.#fail(error.message === "timeout expired" ? lateError() : error),
    );
  }

  get waiting(): number {
    return this.#questions.length;
  }

  ask(question: Question): void {
    if (!this.#prepared.has(question.text) && touchesOwned(question.text)) {
      question.reject(new Error("rows of tenants are not read through a lane"));
      return;
    }
    // Built before the question counts as asked: an answer belongs to the oldest question, so one that was never sent
    // would take the answer of the next, and so on.
    let messages: readonly Buffer[];
    try {
      messages = this.#messagesOf(question);
    } catch (error) {
      question.reject(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    // How long it waited for a lane says nothing of this one's server.
    question.askedAt = performance.now();
    this.#questions.push(question);
    this.#unsent.push(...messages);
    this.#guarded(() => {
      // Only what somebody waits for keeps the process.
      if (this.#questions.length === 1) this.#stream?.ref();
      this.#flush();
    });
  }

  end(): void {
    this.usable = false;
    this.#stream?.end(terminateMessage);
  }

  /** Ends a lane that nobody uses, or that nobody answers. */
  check(now: number): void {
    const [oldest] = this.#questions;
    if (oldest && now - oldest.askedAt > stuckMs) this.#stream?.destroy();
    else if (!oldest && now - this.#usedAt > idleMs) this.end();
  }

  #open(stream: pg.Connection["stream"]): void {
    if (!(stream instanceof Socket)) {
      this.#fail(new Error("Connection terminated: it is no socket"));
      return;
    }
    this.#stream = stream;
    stream.removeAllListeners("data");
    const reader = new MessageReader((kind, body) => this.#hear(kind, body));
    stream.on("data", (chunk: Buffer) => this.#guarded(() => reader.take(chunk)));
    stream.once("close", () => this.#fail(new Error("Connection terminated unexpectedly")));
    if (!this.usable) {
      this.end();
      return;
    }
    if (this.#questions.length === 0) stream.unref();
    this.#guarded(() => this.#flush());
  }

  /** What asks a question, and notes that its statement is prepared with it. */
  #messagesOf({ text, values, once }: Read): readonly Buffer[] {
    const known = this.#prepared.get(text);
    if (known !== undefined) return [runMessage(known, values)];
    const name = once ? "" : `r${this.#prepared.size}`;
    const messages = [parseMessage(name, text), runMessage(name, values)];
    if (!once) this.#prepared.set(text, name);
    if (this.#prepared.size >= maxPrepared) this.usable = false;
    return messages;
  }

  #flush(): void {
    const stream = this.#stream;
    if (!stream || this.#unsent.length === 0) return;
    // What comes in one turn of the event loop goes out in one write: each wakes the server.
    if (!this.#corked) {
      this.#corked = true;
      stream.cork();
      setImmediate(() => {
        this.#corked = false;
        this.#guarded(() => stream.uncork());
      });
    }
    for (const message of this.#unsent.splice(0)) stream.write(message);
  }

  /** After a failure in between nobody knows which answer belongs to whom: the connection ends, with all that wait in it. */
  #guarded(run: () => void): void {
    try {
      run();
    } catch {
      this.usable = false;
      this.#stream?.destroy();
    }
  }

  #hear(kind: number, body: Pieces): void {
    const [question] = this.#questions;
    if (!question) return;
    if (kind === letter.dataRow) {
      if (question.row) return;
      const columns = Array.from({ length: body.int16() }, () => {
        const length = body.int32();
        return length < 0 ? null : body.take(length);
      });
      question.row = new RawRow(columns);
    } else if (kind === letter.error) question.error = databaseError(body);
    else if (kind === letter.ready) this.#answer(question);
  }

  #answer(question: Question): void {
    this.#questions.shift();
    if (this.#questions.length === 0) {
      this.#usedAt = performance.now();
      this.#stream?.unref();
    }
    if (question.error) {
      // Whether the statement is prepared now is not known, and a changed view spoils it for good: a new lane
      // starts afresh. What was sent behind it is still answered here. Values do not spoil anything.
      if (!/^(22|57014)/.test(question.error.code ?? "")) this.usable = false;
      question.reject(question.error);
    } else question.resolve(question.row);
    if (!this.usable && this.#questions.length === 0) this.end();
    // The server begins with the next one only now.
    const [next] = this.#questions;
    if (next) next.askedAt = performance.now();
    this.#onRoom();
  }

  #fail(error: Error): void {
    this.usable = false;
    this.#stream = null;
    for (const question of this.#questions.splice(0)) question.reject(question.error ?? error);
    this.#onGone(error);
  }
}

const letter = { dataRow: 0x44, error: 0x45, ready: 0x5a };

function databaseError(body: Pieces): pg.DatabaseError {
  const { C: code = "", M: message = "", D: detail } = errorFields(body);
  return Object.assign(new pg.DatabaseError(message, message.length, "error"), { code, detail });
}
