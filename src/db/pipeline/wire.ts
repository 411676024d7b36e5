/*
 * The few messages of PostgreSQL's protocol (version 3) that reading one row takes. `pg` makes a string of
 * every value; here a value stays the bytes that came, uncopied, however the network has cut them.
 */

/** A value of a parameter: text, bytes, or null. */
export type WireValue = string | Buffer | null;

/** A value as `pg` would send it, arrays of texts included. */
export function wireValue(value: unknown): WireValue {
  if (value === null || Buffer.isBuffer(value) || typeof value === "string") return value;
  if (!Array.isArray(value)) return String(value);
  return `{${value.map((item) => `"${String(item).replace(/["\\]/g, "\\$&")}"`).join(",")}}`;
}

/** Parse: prepares `sql` under a name. */
export function parseMessage(name: string, sql: string): Buffer {
  return message("P", Buffer.from(`${name}\0${sql}\0\0\0`));
}

/** Bind, Execute and Sync: runs a prepared statement; its results come as text. One allocation, since it is sent for each read. */
export function runMessage(name: string, values: readonly WireValue[]): Buffer {
  const nameLength = Buffer.byteLength(name);
  let length = 4 + 1 + nameLength + 1 + 2 + 2 * values.length + 2 + 4 * values.length + 2;
  for (const value of values) length += byteLengthOf(value);
  const bytes = Buffer.allocUnsafe(1 + length + runAndSync.length);
  bytes[0] = 0x42;
  let at = bytes.writeInt32BE(length, 1);
  bytes[at] = 0;
  at += 1 + bytes.write(name, at + 1);
  bytes[at] = 0;
  at = bytes.writeInt16BE(values.length, at + 1);
  for (const value of values) at = bytes.writeInt16BE(Buffer.isBuffer(value) ? 1 : 0, at);
  at = bytes.writeInt16BE(values.length, at);
  for (const value of values) {
    at = bytes.writeInt32BE(value === null ? -1 : byteLengthOf(value), at);
    if (typeof value === "string") at += bytes.write(value, at);
    else if (value !== null) at += value.copy(bytes, at);
  }
  at = bytes.writeInt16BE(0, at);
  runAndSync.copy(bytes, at);
  return bytes;
}

export const terminateMessage = message("X", Buffer.alloc(0));
const runAndSync = Buffer.concat([message("E", Buffer.alloc(5)), message("S", Buffer.alloc(0))]);

function message(kind: string, body: Buffer): Buffer {
  const bytes = Buffer.alloc(5 + body.length, kind, "latin1");
  bytes.writeInt32BE(4 + body.length, 1);
  body.copy(bytes, 5);
  return bytes;
}

function byteLengthOf(value: WireValue): number {
  if (value === null) return 0;
  return typeof value === "string" ? Buffer.byteLength(value) : value.length;
}

/** One message of the server: its letter, and its body in the pieces in which it came. */
export type OnMessage = (kind: number, body: Pieces) => void;

/** Takes the server's bytes as they come and gives whole messages. */
export class MessageReader {
  readonly #onMessage: OnMessage;
  readonly #head = Buffer.alloc(5);
  #headLength = 0;
  #body: Buffer[] = [];
  #missing = 0;

  constructor(onMessage: OnMessage) {
    this.#onMessage = onMessage;
  }

  take(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#headLength < 5) {
        const took = chunk.copy(this.#head, this.#headLength, at, at + 5 - this.#headLength);
        this.#headLength += took;
        at += took;
        if (this.#headLength < 5) return;
        this.#missing = this.#head.readInt32BE(1) - 4;
      }
      const end = Math.min(chunk.length, at + this.#missing);
      if (end > at) this.#body.push(chunk.subarray(at, end));
      this.#missing -= end - at;
      at = end;
      if (this.#missing > 0) return;
      const body = new Pieces(this.#body);
      this.#headLength = 0;
      this.#body = [];
      this.#onMessage(this.#head[0] ?? 0, body);
    }
  }
}

/** Reads on through bytes in several buffers. */
export class Pieces {
  readonly #pieces: readonly Buffer[];
  #piece = 0;
  #at = 0;

  constructor(pieces: readonly Buffer[]) {
    this.#pieces = pieces;
  }

  int16(): number {
    return (this.#byte() << 8) | this.#byte();
  }

  int32(): number {
    return (this.#byte() << 24) | (this.#byte() << 16) | (this.#byte() << 8) | this.#byte();
  }

  take(length: number): Buffer[] {
    const taken: Buffer[] = [];
    let left = length;
    while (left > 0) {
      const piece = this.#pieces[this.#piece];
      if (!piece) break;
      const end = Math.min(piece.length, this.#at + left);
      if (end > this.#at) taken.push(piece.subarray(this.#at, end));
      left -= end - this.#at;
      this.#at = end;
      if (this.#at === piece.length) {
        this.#piece += 1;
        this.#at = 0;
      }
    }
    return taken;
  }

  /** All that is left. */
  rest(): Buffer {
    return Buffer.concat(this.take(Number.MAX_SAFE_INTEGER));
  }

  #byte(): number {
    let piece = this.#pieces[this.#piece];
    while (piece && this.#at >= piece.length) {
      this.#piece += 1;
      this.#at = 0;
      piece = this.#pieces[this.#piece];
    }
    const byte = piece?.[this.#at] ?? 0;
    this.#at += 1;
    return byte;
  }
}

/** What an ErrorResponse says, by the letters of its fields: `C` code, `M` message, … */
export function errorFields(body: Pieces): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const part of body.rest().toString().split("\0")) if (part) fields[part[0] ?? ""] = part.slice(1);
  return fields;
}
