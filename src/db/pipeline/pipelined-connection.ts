import { Socket } from "node:net";
import pg from "pg";
import { pageMemory } from "../../buffer-pool.ts";
import { RawRow } from "../pool/raw-row.ts";
import { type RequestEnd, touchesOwned } from "../tenancy/tenant.ts";
import {
  columnsOf,
  errorFields,
  MessageReader,
  parseMessage,
  runMessage,
  terminateMessage,
  type WireValue,
} from "./wire.ts";

/** Prepared statements per connection; then a new connection replaces it: which are still used is not known. */
const maxPrepared = 300;
/** A connection without an answer for so long has lost its server, because the server ends every statement in time. */
const stuckAfterMs = ({ statement_timeout: limitMs }: pg.ClientConfig) => 10_000 + (limitMs || 15_000);
const idleMs = 60_000;

/** Worded as `pg` does: `asUnavailable` recognises it by that. */
export const lateError = () => new Error("timeout exceeded when trying to connect");

/** One read: its statement, its caller, and its result so far. */
export interface Question {
  text: string;
  values: readonly WireValue[];
  once: boolean;
  end: RequestEnd | null;
  askedAt: number;
  row: RawRow | null;
  error: pg.DatabaseError | null;
  resolve: (row: RawRow | null) => void;
  reject: (error: Error) => void;
}

/** One connection: opened and authenticated by `pg`, then spoken to directly. */
export class PipelinedConnection {
  usable = true;
  #corked = false;
  readonly #stuckMs: number;
  readonly #onRoom: () => void;
  readonly #onGone: (error: Error) => void;
  /** Sent or about to be sent, and not answered; in the order of their answers. */
  readonly #questions: Question[] = [];
  /** Messages of the questions above that are not written yet. */
  readonly #unsent: Buffer[] = [];
  readonly #prepared = new Map<string, string>();
  #stream: Socket | null = null;
  #usedAt = performance.now();

  constructor(options: pg.ClientConfig, onRoom: () => void, onGone: (error: Error) => void) {
    this.#onRoom = onRoom;
    this.#onGone = onGone;
    this.#stuckMs = stuckAfterMs(options);
    const client = new pg.Client({ ...options, stream: () => new SteadySocket() });
    // A connection that breaks also closes its stream, and that is handled here.
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
      question.reject(new Error("rows of tenants are not read over a pipelined connection"));
      return;
    }
    // Built before the question is queued. An answer belongs to the oldest question in the queue, so a question that
    // was never sent would take the next one's answer, and so on.
    let messages: readonly Buffer[];
    try {
      messages = this.#messagesOf(question);
    } catch (error) {
      question.reject(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    // The time that it waited for a connection says nothing about this connection's server.
    question.askedAt = performance.now();
    this.#questions.push(question);
    this.#unsent.push(...messages);
    this.#guarded(() => {
      // Only a pending read keeps the process alive.
      if (this.#questions.length === 1) this.#stream?.ref();
      this.#flush();
    });
  }

  end(): void {
    this.usable = false;
    this.#stream?.end(terminateMessage);
  }

  /** Closes a connection that is idle or whose server does not answer. */
  check(now: number): void {
    const [oldest] = this.#questions;
    if (oldest && now - oldest.askedAt > this.#stuckMs) this.#stream?.destroy();
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
    const take = (chunk: Buffer, length: number) => this.#guarded(() => reader.take(chunk, length));
    // With TLS, `pg` has wrapped it in another stream.
    if (stream instanceof SteadySocket) stream.onBytes = take;
    else stream.on("data", (chunk: Buffer) => take(chunk, chunk.length));
    stream.once("close", () => this.#fail(new Error("Connection terminated unexpectedly")));
    if (!this.usable) {
      this.end();
      return;
    }
    if (this.#questions.length === 0) stream.unref();
    this.#guarded(() => this.#flush());
  }

  /** The messages for a question; records that its statement is prepared. */
  #messagesOf({ text, values, once }: Question): readonly Buffer[] {
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
    // All messages of one turn of the event loop go out in one write, because each write wakes the server.
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

  /** After a failure in `run`, answers can no longer be matched with reads: the connection ends, with all its reads. */
  #guarded(run: () => void): void {
    try {
      run();
    } catch {
      this.usable = false;
      this.#stream?.destroy();
    }
  }

  #hear(kind: number, body: Buffer): void {
    const [question] = this.#questions;
    if (!question) return;
    if (kind === letter.dataRow) question.row ??= new RawRow(columnsOf(body), () => pageMemory.give(body));
    else if (kind === letter.error) question.error = databaseError(body);
    else if (kind === letter.ready) this.#answer(question);
  }

  #answer(question: Question): void {
    this.#questions.shift();
    if (this.#questions.length === 0) {
      this.#usedAt = performance.now();
      this.#stream?.unref();
    }
    if (question.error) {
      // The statement may be unprepared, or fail for good as a view changed: a new connection replaces this one once
      // the questions already sent are answered. Errors of values (22) and cancelled statements (57014) do no harm.
      if (!/^(22|57014)/.test(question.error.code ?? "")) this.usable = false;
      question.reject(question.error);
    } else question.resolve(question.row);
    if (!this.usable && this.#questions.length === 0) this.end();
    // Only now the server begins with the next one.
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

function databaseError(body: Buffer): pg.DatabaseError {
  const { C: code = "", M: message = "", D: detail } = errorFields(body);
  return Object.assign(new pg.DatabaseError(message, message.length, "error"), { code, detail });
}

/** As much as one read of Node returns at most. */
const bufferBytes = 65_536;

/**
 * A socket that reads into the same buffer again and again. For any other socket, Node allocates 64 KB for each read
 * and copies the bytes to memory of their length.
 */
class SteadySocket extends Socket {
  /** Called with the bytes read, which are overwritten afterwards. Until it is set, `data` is emitted as usual. */
  onBytes: ((bytes: Buffer, length: number) => void) | null = null;

  constructor() {
    const buffer = Buffer.allocUnsafeSlow(bufferBytes);
    const callback = (length: number) => {
      if (this.onBytes) this.onBytes(buffer, length);
      else this.emit("data", Buffer.from(buffer.subarray(0, length)));
      return true;
    };
    super({ onread: { buffer, callback } });
  }
}
