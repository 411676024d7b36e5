import { pageMemory, pooledBytes } from "../../buffer-pool.ts";

/*
 * The few messages of PostgreSQL's protocol (version 3) that are needed to read one row. `pg` makes a string of every
 * value. Here values stay the bytes received, however the network has split them.
 */

/** A parameter's value: text, bytes, or null. */
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

/** Bind, Execute and Sync: runs a prepared statement, with results as text. One allocation, as every read needs it. */
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

/** One message of the server: its type letter, and a copy of its body; long ones are in `pageMemory`. */
export type OnMessage = (kind: number, body: Buffer) => void;

const headLength = 5;
const nothing = Buffer.alloc(0);

function bodyOf(length: number): Buffer {
  if (length === 0) return nothing;
  return length < pooledBytes ? Buffer.allocUnsafe(length) : pageMemory.take(length);
}

/** Takes the server's bytes as they arrive, copies them once, and emits whole messages. */
export class MessageReader {
  readonly #onMessage: OnMessage;
  readonly #head = Buffer.alloc(headLength);
  #headBytes = 0;
  #body: Buffer = nothing;
  #bodyBytes = 0;

  constructor(onMessage: OnMessage) {
    this.#onMessage = onMessage;
  }

  /** @param chunk may be reused once this returns. @param end of the received bytes in `chunk`. */
  take(chunk: Buffer, end: number = chunk.length): void {
    let at = 0;
    while (at < end) {
      if (this.#headBytes < headLength) {
        const took = chunk.copy(this.#head, this.#headBytes, at, Math.min(end, at + headLength - this.#headBytes));
        this.#headBytes += took;
        at += took;
        if (this.#headBytes < headLength) return;
        const length = this.#head.readInt32BE(1) - 4;
        this.#body = bodyOf(length);
        this.#bodyBytes = 0;
      }
      const took = Math.min(end - at, this.#body.length - this.#bodyBytes);
      if (took > 0) chunk.copy(this.#body, this.#bodyBytes, at, at + took);
      this.#bodyBytes += took;
      at += took;
      if (this.#bodyBytes < this.#body.length) return;
      const body = this.#body;
      this.#headBytes = 0;
      this.#body = nothing;
      this.#onMessage(this.#head[0] ?? 0, body);
    }
  }
}

/** The columns of a DataRow, as slices of its bytes; null for NULL. */
export function columnsOf(body: Buffer): (Buffer | null)[] {
  let at = 2;
  return Array.from({ length: body.readInt16BE(0) }, () => {
    const length = body.readInt32BE(at);
    at += 4;
    if (length < 0) return null;
    at += length;
    return body.subarray(at - length, at);
  });
}

/** The fields of an ErrorResponse by their letters: `C` code, `M` message, … */
export function errorFields(body: Buffer): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const part of body.toString().split("\0")) if (part) fields[part[0] ?? ""] = part.slice(1);
  return fields;
}
