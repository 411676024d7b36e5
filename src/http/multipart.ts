import type { IncomingMessage } from "node:http";
import { type Readable, Writable } from "node:stream";
import { Dicer } from "@fastify/busboy";
import { ServiceError } from "../errors/errors.ts";
import { turnOf } from "../long-work.ts";

/** One part of a form. Read it before asking for the next one, which drops the rest of it. */
export interface Part extends PartHeader {
  stream: Readable;
}

export interface MultipartLimits {
  /** The owner of the form: accounts take turns. */
  account: string;
  parts: number;
  /** Of the whole body, which also bounds unread parts. */
  bodyBytes: number;
  /** The longest pause between two chunks of the body. */
  idleMs?: number;
  totalMs?: number;
}

/** Parts that may wait to be read before the connection is paused. */
const waitingParts = 32;
/** Bodies with shorter parts are parsed in pieces of this size: hundreds at once would block the event loop. */
const pieceBytes = 4_096;

/**
 * Reads a multipart body part by part, as it arrives.
 *
 * The parser is Dicer, which busboy wraps; busboy itself reports a part without a type as text/plain, which would turn
 * many clients' images into that. A truncated body looks to both like a part that ended; here the iteration throws
 * instead, so a part whose end was read is complete.
 *
 * @throws ServiceError `unsupported_media_type`, `value_error` for a form that is broken or has too many parts,
 * `file_too_large` for the body, `request_timeout` also if the client left.
 */
export async function* readMultipart(request: IncomingMessage, limits: MultipartLimits): AsyncGenerator<Part> {
  if (!/^(identity)?$/i.test(request.headers["content-encoding"] ?? "")) {
    throw new ServiceError("unsupported_media_type", "send the form as it is, without a Content-Encoding");
  }
  const form = new FormReader(request, parseBoundary(request.headers["content-type"]), limits);
  try {
    for (;;) {
      const part = await form.next();
      if (!part) return;
      yield part;
      part.stream.resume();
    }
  } finally {
    form.stop();
  }
}

/** The body's length as its sender announces it; null if it does not. */
export function announcedBytes({ headers }: IncomingMessage): number | null {
  const length = headers["content-length"];
  return length === undefined ? null : Number(length);
}

class FormReader {
  readonly #request: IncomingMessage;
  readonly #limits: MultipartLimits;
  readonly #queue: Part[] = [];
  /** Parts that have not ended: a failure must reach them. */
  readonly #unread = new Set<Readable>();
  readonly #sink: Writable;
  readonly #timers: NodeJS.Timeout[];
  #parts = 0;
  #finished = false;
  #failure: unknown = null;
  #wake: () => void = () => undefined;
  #resumeSink: (() => void) | null = null;
  readonly #idleMs: number;
  #bodyBytes = 0;
  #parsedBytes = 0;
  #lastPiece = Date.now();
  #stopped = false;

  constructor(request: IncomingMessage, boundary: string, limits: MultipartLimits) {
    this.#request = request;
    this.#limits = limits;
    const { idleMs = 10_000, totalMs = 300_000 } = limits;
    this.#idleMs = idleMs;
    const dicer = new Dicer({ boundary, maxHeaderPairs: 20 });
    dicer.on("part", (part) => this.#onPart(part));
    dicer.on("finish", () => {
      this.#finished = true;
      this.#wake();
    });
    dicer.on("error", (cause) => this.#fail(brokenForm(cause)));
    this.#sink = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        this.#lastPiece = Date.now();
        this.#bodyBytes += chunk.length;
        if (this.#bodyBytes > limits.bodyBytes) this.#fail(tooLarge(limits.bodyBytes));
        else this.#parse(dicer, chunk, done);
      },
      final: (done) => {
        dicer.end();
        done();
      },
    });
    this.#sink.on("error", (error) => this.#fail(error));
    request.on("error", this.#onAbort);
    request.on("close", this.#onAbort);
    this.#timers = [
      setInterval(() => this.#checkIdle(), Math.max(idleMs / 10, 10)),
      setTimeout(() => this.#fail(tooSlow("the upload took too long")), totalMs),
    ];
    if ((announcedBytes(request) ?? 0) > limits.bodyBytes) this.#fail(tooLarge(limits.bodyBytes));
    else request.pipe(this.#sink);
  }

  async next(): Promise<Part | null> {
    for (;;) {
      const part = this.#queue.shift();
      if (part) {
        this.#resumeSink?.();
        return part;
      }
      if (this.#failure !== null) throw this.#failure;
      if (this.#finished) return null;
      await new Promise<void>((wake) => {
        this.#wake = wake;
      });
    }
  }

  /** Detaches from the request, which stays open for an answer. The caller drops what is unread. */
  stop(): void {
    this.#stopped = true;
    this.#timers.forEach(clearTimeout);
    this.#request.unpipe(this.#sink);
    this.#request.off("close", this.#onAbort);
    this.#resumeSink?.();
    for (const part of this.#unread) part.resume();
  }

  #onPart(stream: Dicer.PartStream): void {
    this.#unread.add(stream);
    // Dicer reports a truncated part with an error of its own, and only to the part's reader.
    const emit = stream.emit.bind(stream);
    stream.emit = (event: string | symbol, ...args: unknown[]) =>
      event === "error" && !(args[0] instanceof ServiceError) ? emit(event, brokenForm(args[0])) : emit(event, ...args);
    // A truncated part fails before its form does.
    stream.on("error", (cause) => this.#fail(cause instanceof ServiceError ? cause : brokenForm(cause)));
    stream.on("close", () => this.#unread.delete(stream));
    if (++this.#parts > this.#limits.parts) this.#fail(new ServiceError("value_error", "the form has too many parts"));
    if (this.#failure !== null || this.#stopped) return void stream.resume();
    stream.on("header", (lines) => {
      try {
        this.#queue.push({ ...parsePartHeader(lines as Record<string, string[]>), stream });
        this.#wake();
      } catch (error) {
        this.#fail(error);
      }
    });
  }

  #parse(dicer: Dicer, chunk: Buffer, done: () => void): void {
    const piece = this.#parsedBytes <= this.#parts * pieceBytes ? chunk.subarray(0, pieceBytes) : chunk;
    this.#parsedBytes += piece.length;
    const rest = chunk.subarray(piece.length);
    const next =
      rest.length === 0 ? done : () => void turnOf(this.#limits.account).then(() => this.#parse(dicer, rest, done));
    dicer.write(piece, () => this.#whenRoom(next));
  }

  #whenRoom(done: () => void): void {
    this.#resumeSink = () => {
      if (this.#queue.length >= waitingParts && !this.#stopped) return;
      this.#resumeSink = null;
      done();
    };
    this.#resumeSink();
  }

  readonly #onAbort = () => {
    if (!this.#request.complete) this.#fail(tooSlow("the client went away during its upload"));
  };

  #checkIdle(): void {
    // Time in which this process pauses the connection does not count against the client.
    if (this.#sink.writableNeedDrain || this.#request.complete) this.#lastPiece = Date.now();
    if (Date.now() - this.#lastPiece > this.#idleMs) this.#fail(tooSlow("no data came for too long"));
  }

  #fail(error: unknown): void {
    if (this.#failure !== null || this.#stopped) return;
    this.#failure = error;
    this.#request.unpipe(this.#sink);
    for (const part of this.#unread) part.destroy(error as Error);
    for (const { stream } of this.#queue.splice(0)) stream.destroy();
    this.#wake();
  }
}

function brokenForm(cause: unknown): ServiceError {
  return new ServiceError("value_error", "the multipart form breaks off or is malformed", { cause });
}

function tooLarge(limit: number): ServiceError {
  return new ServiceError("file_too_large", `the body is over ${limit} bytes`);
}

function tooSlow(message: string): ServiceError {
  return new ServiceError("request_timeout", message);
}

export interface PartHeader {
  name: string;
  /** As sent, folders included; null if absent. */
  fileName: string | null;
  /** As sent; null if absent. */
  contentType: string | null;
}

const longestNameBytes = 100;

/** The boundary of a multipart request. @throws ServiceError `unsupported_media_type` for any other content type. */
function parseBoundary(contentType: string | undefined): string {
  const [type = "", ...parameters] = splitParameters(contentType ?? "");
  const boundary = new Map(parameters.map(parseParameter)).get("boundary");
  if (type.trim().toLowerCase() !== "multipart/form-data" || !boundary || boundary.length > 200) {
    throw new ServiceError("unsupported_media_type", "send multipart/form-data with a boundary");
  }
  return boundary;
}

/**
 * Parses the header lines of a part; their bytes come as latin1 and are UTF-8.
 *
 * @throws ServiceError `value_error` for a part without a name and for one with a name over 100 bytes.
 */
function parsePartHeader(lines: Record<string, string[]>): PartHeader {
  const [kind = "", ...parameters] = splitParameters(utf8(lines["content-disposition"]?.[0] ?? ""));
  const values = new Map(parameters.map(parseParameter));
  const name = values.get("name");
  if (kind.trim().toLowerCase() !== "form-data" || name === undefined) {
    throw new ServiceError("value_error", "a part of the form has no name");
  }
  if (Buffer.byteLength(name) > longestNameBytes) {
    throw new ServiceError("value_error", `a part of the form has a name of over ${longestNameBytes} bytes`);
  }
  return {
    name,
    fileName: extendedValue(values.get("filename*")) ?? values.get("filename") ?? null,
    contentType: lines["content-type"]?.[0]?.trim() || null,
  };
}

/** Splits at semicolons outside quotes. */
function splitParameters(text: string): string[] {
  return text.match(/(?:"(?:\\.|[^"\\])*"|[^;"]|")+/gs) ?? [];
}

function parseParameter(text: string): [name: string, value: string] {
  const equals = text.indexOf("=");
  if (equals < 0) return [text.trim().toLowerCase(), ""];
  const value = text.slice(equals + 1).trim();
  return [text.slice(0, equals).trim().toLowerCase(), value.startsWith('"') ? unquote(value) : value];
}

/** Inside quotes a backslash escapes only a quote or a backslash, because old browsers sent whole Windows paths. */
function unquote(text: string): string {
  return text.replace(/^"|"$/g, "").replace(/\\(["\\])/g, "$1");
}

/** RFC 5987: UTF-8''na%C3%AFve.json. */
function extendedValue(text: string | undefined): string | null {
  const encoded = /^utf-8'[^']*'(.*)$/is.exec(text ?? "")?.[1];
  if (encoded === undefined) return null;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return null;
  }
}

function utf8(latin1: string): string {
  return Buffer.from(latin1, "latin1").toString("utf8");
}
