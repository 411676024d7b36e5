import type { Context } from "hono";
import type { Caller } from "../auth/caller.ts";
import { ServiceError } from "../errors.ts";
import type { AppEnv } from "../http/app-env.ts";
import { announcedBytes, type Part, readMultipart } from "../http/multipart.ts";
import type { Services } from "../services.ts";
import { refuseOverQuota } from "../uploads/admit-upload.ts";
import { MultipartFiles } from "./multipart-files.ts";
import { UploadedFile } from "./uploaded-file.ts";

/** A browser sends this header across origins only after a preflight, which plain form posts never do. */
const preflightHeader = "x-graphql-yoga-csrf";

/** Beside the files: the operation, the map, and headers of 25,000 parts. */
const formBytes = 32_000_000;

/** Of the operation, and of the map: 25,000 files fit. */
const fieldBytes = 2_000_000;

export interface MultipartRequest {
  /** With an `UploadedFile` in each place that the map names (graphql-multipart-request-spec). */
  operation: Record<string, unknown>;
  /** Stops reading; what is left of the body is the caller's to drop. */
  close(): Promise<void>;
}

export function isMultipart(c: Context): boolean {
  return c.req.method === "POST" && /^multipart\/form-data\b/i.test(c.req.header("content-type") ?? "");
}

/**
 * Reads a multipart request up to its files, which are read while the operation runs. The key and the account's
 * room are looked at before anything of the body.
 *
 * @throws ServiceError `value_error`, `unsupported_media_type`, `file_too_large`, `request_timeout`,
 *   `plan_limit_exceeded`.
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
    // Some more than are allowed, so that the use case is the one to say so.
    parts: directoryFiles + 100,
    bodyBytes: Math.max(fileBytes, directoryBytes) + formBytes,
  });
  const close = async () => void (await parts.return(undefined));
  try {
    const operation = await readField(parts, "operations");
    const map = await readField(parts, "map");
    const files = new MultipartFiles(parts, new Set(Object.keys(map)));
    for (const [name, paths] of Object.entries(map)) {
      const file = new UploadedFile(() => files.open(name));
      if (!Array.isArray(paths)) throw malformed("map", `${JSON.stringify(name)} is no list of paths`);
      for (const path of paths) place(operation, path, file);
    }
    return { operation, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function readField(parts: AsyncGenerator<Part>, name: string): Promise<Record<string, unknown>> {
  const { value: part, done } = await parts.next();
  if (done || part.name !== name) throw malformed(name, "operations come first, then the map, then the files");
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of part.stream) {
    size += chunk.length;
    if (size > fieldBytes) throw new ServiceError("file_too_large", `${name} is over ${fieldBytes} bytes`);
    chunks.push(chunk);
  }
  let value: unknown;
  try {
    value = JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    throw malformed(name, "is not JSON");
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw malformed(name, "one JSON object is wanted; send one operation per request");
  }
  return value as Record<string, unknown>;
}

/** Puts a file where the map says: `variables.files.0`, which must hold null. */
function place(operation: Record<string, unknown>, path: unknown, file: UploadedFile): void {
  const steps = typeof path === "string" ? path.split(".") : [];
  const last = steps.pop() ?? "";
  let at: unknown = operation;
  for (const step of steps) at = isHolder(at) && Object.hasOwn(at, step) ? at[step] : null;
  if (!isHolder(at) || !Object.hasOwn(at, last) || at[last] !== null) {
    throw malformed("map", `${JSON.stringify(path)?.slice(0, 100)} leads to no variable that is null`);
  }
  at[last] = file;
}

function isHolder(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === "object" && !(value instanceof UploadedFile);
}

function malformed(field: string, message: string): ServiceError {
  return new ServiceError("value_error", `the part ${field} of the form: ${message}`, { field });
}
