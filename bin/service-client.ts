import { openAsBlob } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
// Not Node 24's built-in one: when a server answers before it has read a form, that one crashes the process.
import { FormData, fetch, type RequestInit } from "undici";
import { backoffMs } from "../src/backoff.ts";
import { countForMinorGc } from "../src/ipfs/minor-gc.ts";
import { CommandError } from "./command-error.ts";
import type { ServiceAddress } from "./service-address.ts";

interface UserError {
  code: string;
  field?: string | null;
  message: string;
}

export interface StoredDirectory {
  uri: string;
  warnings: { rule: string; message: string; count: number; examples: string[] }[];
}

interface DirectoryAnswer {
  metadata_directory_ipfs_uri: string;
  warnings?: StoredDirectory["warnings"];
}

/** The service refused the request; repeating it would not help. */
export class RefusedError extends CommandError {
  override readonly name = "RefusedError";
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

const pauses = { firstMs: 400, mostMs: 20_000, jitter: 0.3 };

/** A service's public HTTP API. Retries after passing failures: broken connections, 429 and 5xx. */
export class ServiceClient {
  readonly url: string;
  readonly #key: string;
  readonly #tries: number;

  constructor({ url, key }: ServiceAddress, tries = 12) {
    this.url = url.replace(/\/+$/, "");
    this.#key = key;
    this.#tries = tries;
  }

  /** @throws RefusedError for errors in the document or by the caller. */
  async graphql<T extends object>(query: string, variables: Record<string, unknown> = {}): Promise<T> {
    const body = JSON.stringify({ query, variables });
    const headers = { "Content-Type": "application/json" };
    return await this.#again(async () => {
      const { data, errors } = (await this.#send("/graphql", { method: "POST", body, headers })) as {
        data?: T & object;
        errors?: { message: string; extensions?: { code?: string; retryAfterSeconds?: number } }[];
      };
      const [first] = errors ?? [];
      if (first) {
        const code = first.extensions?.code ?? "value_error";
        if (passing.has(code))
          throw new PassingError(first.message, (first.extensions?.retryAfterSeconds ?? 1) * 1_000);
        throw new RefusedError(code, errors?.map(({ message }) => message).join("; ") ?? "");
      }
      if (!data) throw new PassingError("the answer has no data");
      checkPayloads(data);
      return data;
    });
  }

  /** Uploads a file from disk without loading it whole. @returns its CID. */
  async uploadFile(path: string, name: string): Promise<string> {
    return await this.#upload(async () => await openAsBlob(path), name);
  }

  /** @returns the CID. */
  async uploadJson(text: string, name: string): Promise<string> {
    return await this.#upload(async () => new Blob([text], { type: "application/json" }), name);
  }

  async #upload(open: () => Promise<Blob>, name: string): Promise<string> {
    return await this.#again(async () => {
      const form = new FormData();
      const blob = await open();
      form.append("file", blob, name);
      // Its buffers are outside the heap, and would otherwise accumulate to some hundred megabytes.
      countForMinorGc(2 * blob.size);
      const answer = (await this.#send("/v0/files", { method: "POST", body: form })) as { ipfs_url: string };
      return answer.ipfs_url.split("/").at(-1) ?? "";
    });
  }

  /** The largest file that the service accepts; Infinity if it does not say: it then refuses the upload itself. */
  async largestFileBytes(): Promise<number> {
    const found = await this.#send("/console/installation.json", { method: "GET" }).catch(() => null);
    const { limits } = (found ?? {}) as { limits?: { file_bytes?: number } };
    return limits?.file_bytes ?? Number.POSITIVE_INFINITY;
  }

  /** @returns its URI, `ipfs://…/`, and what readers may misread. @throws RefusedError with each fault of each file. */
  async uploadDirectory(files: ReadonlyMap<string, string>): Promise<StoredDirectory> {
    return await this.#directory(files, "warnings=true");
  }

  /** The same without storing anything. */
  async planDirectory(files: ReadonlyMap<string, string>): Promise<StoredDirectory> {
    return await this.#directory(files, "dry_run=true");
  }

  async #directory(files: ReadonlyMap<string, string>, query: string): Promise<StoredDirectory> {
    return await this.#again(async () => {
      const form = new FormData();
      for (const [name, text] of files)
        form.append("metadata_files", new Blob([text], { type: "application/json" }), name);
      const answer = await this.#send(`/v0/metadata/directory?${query}`, { method: "POST", body: form });
      const { metadata_directory_ipfs_uri: uri, warnings } = answer as DirectoryAnswer;
      return { uri, warnings: warnings ?? [] };
    });
  }

  /**
   * A REST request. It is sent only once if it changes something, because a repetition could do it twice.
   *
   * @param path with its query, such as `/v1/webhooks`.
   */
  async rest<T extends object>(method: "GET" | "POST" | "PATCH" | "DELETE", path: string, body?: object): Promise<T> {
    const headers = { "Content-Type": "application/json" };
    const init = body === undefined ? { method } : { method, body: JSON.stringify(body), headers };
    return (await this.#again(async () => await this.#send(path, init), method === "GET" ? this.#tries : 1)) as T;
  }

  /** Whether the service has a page. */
  async exists(path: string): Promise<boolean> {
    return await fetch(`${this.url}${path}`, { method: "HEAD", redirect: "error" }).then(
      ({ ok }) => ok,
      () => false,
    );
  }

  async #send(path: string, init: RequestInit): Promise<unknown> {
    const headers = { ...(init.headers as Record<string, string>), Authorization: this.#key };
    // A redirect could send the key to another host.
    const response = await fetch(`${this.url}${path}`, { ...init, headers, redirect: "error" });
    const text = await response.text();
    const body = parse(text);
    if (response.ok && body !== null) return body;
    const { code = "", message = text.slice(0, 200), detail } = failureOf(body);
    const pause = Number(response.headers.get("retry-after")) * 1_000;
    if (response.status === 408 || response.status === 429 || response.status >= 500 || body === null)
      throw new PassingError(`${response.status} ${message}`, pause);
    throw new RefusedError(code, [message, ...detail].join("\n  "));
  }

  async #again<T>(work: () => Promise<T>, tries = this.#tries): Promise<T> {
    for (let tried = 1; ; tried += 1) {
      try {
        return await work();
      } catch (error) {
        if (error instanceof RefusedError || !isPassing(error)) throw error;
        const { message, cause } = error as Error;
        const reason =
          cause instanceof Error ? cause.message || String((cause as NodeJS.ErrnoException).code) : message;
        if (tried >= tries)
          throw new CommandError(`${this.url} does not answer (${reason}); the same command goes on once it does`);
        await sleep(Math.max(backoffMs(tried, pauses), error instanceof PassingError ? error.pauseMs : 0));
      }
    }
  }
}

/** A mutation reports refusals in its payload. @throws RefusedError with all of them, or PassingError. */
function checkPayloads(data: object): void {
  for (const payload of Object.values(data) as ({ userErrors?: readonly UserError[] } | null)[]) {
    const [first] = payload?.userErrors ?? [];
    if (!first) continue;
    if (passing.has(first.code)) throw new PassingError(first.message, 2_000);
    const lines = payload?.userErrors?.map(({ field, message }) => (field ? `${field}: ${message}` : message)) ?? [];
    throw new RefusedError(first.code, lines.join("\n  "));
  }
}

/** Error codes of GraphQL answers after which a retry can succeed. */
const passing = new Set([
  "rate_limit_exceeded",
  "service_unavailable",
  "internal_error",
  "request_timeout",
  "read_timeout",
]);

class PassingError extends Error {
  readonly pauseMs: number;

  constructor(message: string, pauseMs = 0) {
    super(message);
    this.pauseMs = Number.isFinite(pauseMs) ? Math.min(pauseMs, 60_000) : 0;
  }
}

/** For a failed connection, fetch throws a TypeError with a cause. */
function isPassing(error: unknown): boolean {
  return error instanceof PassingError || (error instanceof TypeError && error.cause !== undefined);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function failureOf(body: unknown): { code?: string; message?: string; detail: string[] } {
  const { error, errors, detail } = (body ?? {}) as {
    error?: { code?: string; message?: string };
    errors?: { message: string; extensions?: { code?: string } }[];
    detail?: { loc: string[]; msg: string }[];
  };
  const lines = Array.isArray(detail) ? detail.map(({ loc, msg }) => [...loc, msg].join(": ")) : [];
  if (errors?.[0]) return { code: errors[0].extensions?.code ?? "", message: errors[0].message, detail: [] };
  return {
    ...(error?.code ? { code: error.code } : {}),
    ...(error?.message ? { message: error.message } : {}),
    detail: lines,
  };
}
