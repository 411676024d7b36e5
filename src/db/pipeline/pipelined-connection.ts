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

/** Statements that a connection keeps prepared. Then a new one replaces it: which of them are still used is not known. */
const maxPrepared = 300;
/** A connection that gives no answer for so long has lost its server, where each statement ends in time. */
const stuckAfterMs = ({ statement_timeout: limitMs }: pg.ClientConfig) => 10_000 + (limitMs || 15_000);
const idleMs = 60_000;

/** In the words of pg, by which `asUnavailable` knows it. */
export const lateError = () => new Error("timeout exceeded when trying to connect");

/** What is asked, who waits for it, and what has come of it. */
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
    this.#stuckMs = stuckAfterMs(options);
    const client = new pg.Client({ ...options, stream: () => new SteadySocket() });
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
      question.reject(new Error("rows of tenants are not read over a pipelined connection"));
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
    // How long it waited for a connection says nothing of this one's server.
    question.askedAt = performance.now();
    this.#questions.push(question);
    this.#unsent.push(...messages);
    this.#guarded(() => {
      // Only a pending read keeps the process running.
      if (this.#questions.length === 1) this.#stream?.ref();
      this.#flush();
    });
  }

  end(): void {
    this.usable = false;
    this.#stream?.end(terminateMessage);
  }

  /** Ends a connection that is idle or whose server does not answer. */
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
    // With TLS, `pg` has put another stream around it.
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

  /** What asks a question, and records that its statement is prepared. */
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

  /** After a failure in between, answers cannot be matched with reads: the connection ends, with all reads on it. */
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
      // Whether the statement is prepared now is not known, and a changed view spoils it for good: a new connection
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

function databaseError(body: Buffer): pg.DatabaseError {
  const { C: code = "", M: message = "", D: detail } = errorFields(body);
  return Object.assign(new pg.DatabaseError(message, message.length, "error"), { code, detail });
}

/** As much as one read of Node takes. */
const bufferBytes = 65_536;

/**
 * A socket that reads into the same memory again and again. Of any other, Node allocates 64 KB for each read, and copies what
 * came into memory of its length.
 */
class SteadySocket extends Socket {
  /** Called with what came, which is gone when it returns; until it is set, `data` is emitted as of any socket. */
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
