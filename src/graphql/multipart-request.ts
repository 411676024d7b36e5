import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { processRequest, Upload } from "graphql-upload-ts";
import type { Context } from "hono";
import type { Caller } from "../auth/caller.ts";
import { ServiceError } from "../errors/errors.ts";
import type { AppEnv } from "../http/app-env.ts";
import { announcedBytes, type Part, readMultipart } from "../http/multipart.ts";
import { readAtMost } from "../read-at-most.ts";
import type { Services } from "../services.ts";
import { refuseOverQuota } from "../uploads/admit-upload.ts";
import type { FileInput } from "../uploads/upload-record.ts";

/** A browser sends this header across origins only after a preflight, which plain form posts never do. */
const preflightHeader = "x-graphql-yoga-csrf";

/** Bytes of the form that are not file content: the operation, the map, and the headers of 25,000 parts. */
const formBytes = 32_000_000;

/** Bytes of `operations`, and of `map`: enough for 25,000 files. */
const fieldBytes = 2_000_000;

export interface MultipartRequest {
  /** The operation, with an `UploadedFile` at each path that the map names (graphql-multipart-request-spec). */
  operation: Record<string, unknown>;
  /** Stops reading; the caller drops the rest of the body. */
  close(): Promise<void>;
}

export function isMultipart(c: Context): boolean {
  return c.req.method === "POST" && /^multipart\/form-data\b/i.test(c.req.header("content-type") ?? "");
}

/**
 * Reads a multipart request up to its first file; files are read while the operation runs. The key and the account's
 * free storage are checked before the body is read.
 *
 * @throws ServiceError `value_error`, `unsupported_media_type`, `file_too_large`, `request_timeout`,
 * `plan_limit_exceeded`.
 */
export async function readMultipartRequest(
  c: Context<AppEnv>,
  services: Services,
  caller: () => Promise<Caller>,
): Promise<MultipartRequest> {
  if (!c.req.header(preflightHeader)) {
    throw new ServiceError(
      "value_error",
      `multipart requests must carry the header ${preflightHeader}, with any value`,
    );
  }
  const account = await caller();
  const { fileBytes, directoryBytes, directoryFiles } = services.config.limits;
  await refuseOverQuota(services, account, announcedBytes(c.env.incoming), formBytes);
  const parts = readMultipart(c.env.incoming, {
    account: account.accountId,
    // Slightly more than allowed, so that the use case reports the excess.
    parts: directoryFiles + 100,
    bodyBytes: Math.max(fileBytes, directoryBytes) + formBytes,
  });
  const close = async () => void (await parts.return(undefined));
  try {
    const operations = await readField(parts, "operations");
    const map = await readField(parts, "map");
    const operation = await placeUploads(c, operations, map, directoryFiles + 100);
    const named = JSON.parse(map) as Record<string, string[]>;
    const files = new MultipartFiles(parts, new Set(Object.keys(named)));
    for (const [name, paths] of Object.entries(named)) {
      const file = new UploadedFile(() => files.open(name));
      for (const path of paths) replaceUpload(operation, path, file);
    }
    return { operation, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function readField(parts: AsyncGenerator<Part>, name: string): Promise<string> {
  const { value: part, done } = await parts.next();
  if (done || part.name !== name) throw malformed(name, "operations come first, then the map, then the files");
  const tooLarge = () => new ServiceError("file_too_large", `${name} is over ${fieldBytes} bytes`);
  return (await readAtMost(part.stream, fieldBytes, tooLarge)).toString("utf8");
}

/**
 * graphql-upload-ts implements the specification: it validates the two fields and puts an `Upload` where the map
 * points. It never gets the files, because it would open a temporary file for each of ten thousand.
 */
async function placeUploads(c: Context, operations: string, map: string, maxFiles: number) {
  const form = new FormData();
  form.append("operations", operations);
  form.append("map", map);
  const encoded = new Response(form);
  const fields = new IncomingMessage(new Socket());
  fields.headers = Object.fromEntries(encoded.headers);
  fields.push(Buffer.from(await encoded.arrayBuffer()));
  fields.push(null);
  try {
    const operation = await processRequest(fields, c.env.outgoing, { maxFieldSize: fieldBytes, maxFiles });
    if (Array.isArray(operation)) throw malformed("operations", "send one operation per request");
    return operation as unknown as Record<string, unknown>;
  } catch (error) {
    const { status, expose, message } = error as Error & { status?: unknown; expose?: unknown };
    if (expose !== true || typeof status !== "number") throw error;
    throw new ServiceError(status === 413 ? "file_too_large" : "value_error", message, { field: "map", cause: error });
  }
}

/** Replaces an `Upload` by a file that is read on demand. */
function replaceUpload(operation: Record<string, unknown>, path: string, file: UploadedFile): void {
  const steps = path.split(".");
  const last = steps.pop() ?? "";
  let at: unknown = operation;
  for (const step of steps) at = isHolder(at) ? at[step] : null;
  if (!isHolder(at) || !(at[last] instanceof Upload)) {
    throw malformed("map", `${JSON.stringify(path).slice(0, 100)} leads to no variable that is null`);
  }
  at[last] = file;
}

function isHolder(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === "object" && !(value instanceof Upload);
}

function malformed(field: string, message: string): ServiceError {
  return new ServiceError("value_error", `the part ${field} of the form: ${message}`, { field });
}

/** Bytes of buffered files, in all: those that arrive before the one that is being waited for. */
const keptBytes = 1_048_576;

/**
 * The files of a multipart request, read straight from the connection when the operation opens them. A small file that
 * arrives early is buffered: clients send files in the order of their variables.
 */
class MultipartFiles {
  readonly #parts: AsyncGenerator<Part>;
  readonly #names: ReadonlySet<string>;
  readonly #seen = new Set<string>();
  readonly #used = new Set<string>();
  readonly #kept = new Map<string, FileInput>();
  /** The next part, found while looking for the end of the previous one; null: the form has ended. */
  #ahead: Part | null | undefined;
  #room = keptBytes;

  /** @param names the parts that are files of the operation; other parts are skipped. */
  constructor(parts: AsyncGenerator<Part>, names: ReadonlySet<string>) {
    this.#parts = parts;
    this.#names = names;
  }

  /** @throws ServiceError `value_error` for a file that is missing, sent twice or used twice. */
  async open(name: string): Promise<FileInput> {
    if (this.#used.has(name)) throw wrong(name, "is used twice: send it as two parts");
    this.#used.add(name);
    const kept = this.#kept.get(name);
    if (kept) return kept;
    for (;;) {
      const part = await this.#take();
      if (!part) throw wrong(name, "is missing in the request");
      if (!this.#names.has(part.name)) continue;
      this.#seen.add(part.name);
      const { fileName, contentType } = part;
      if (part.name === name) return { fileName, contentType, stream: this.#bytesOf(part) };
      const bytes = await this.#keep(part);
      this.#kept.set(part.name, { fileName, contentType, stream: only(bytes) });
    }
  }

  async #take(): Promise<Part | null> {
    const ahead = this.#ahead;
    if (ahead === null) return null;
    this.#ahead = undefined;
    if (ahead) return ahead;
    const { value: part, done } = await this.#parts.next();
    if (done) {
      this.#ahead = null;
      return null;
    }
    if (this.#seen.has(part.name)) throw wrong(part.name, "comes twice");
    return part;
  }

  /** Ends only once the form continues after the file or ends properly: a truncated file must not look complete. */
  async *#bytesOf({ stream }: Part): AsyncGenerator<Uint8Array> {
    // If the reader stops early, the rest is skipped, so that the next file can be found.
    yield* stream.iterator({ destroyOnReturn: false });
    this.#ahead = await this.#take();
  }

  async #keep({ name, stream }: Part): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
      this.#room -= chunk.length;
      if (this.#room < 0) throw wrong(name, "comes before its turn: send files in the order in which they are used");
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }
}

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function wrong(name: string, what: string): ServiceError {
  const part = JSON.stringify(name.slice(0, 100));
  const fix = "Send each file as one part of its own, in the order in which the document uses them.";
  return new ServiceError("value_error", `the file of part ${part} ${what}`, { fix });
}

/** A file of a multipart request, as the value of its variable. */
export class UploadedFile {
  /** Waits for the file and starts reading it; may be called once. @throws ServiceError if the file is missing. */
  readonly open: () => Promise<FileInput>;

  constructor(open: () => Promise<FileInput>) {
    this.open = open;
  }
}
