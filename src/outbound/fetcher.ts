import type { Agent, Response } from "undici";
import { collectUntil } from "../read-at-most.ts";
import { AddressRefused, type GuardRules, guardedLookup, isAllowedUrl } from "./address-guard.ts";
import { type Fault, readRetryAfter } from "./fault.ts";
import { Busy, HostLimits } from "./host-limits.ts";

const limits = {
  /** Of the decompressed body. */
  bytes: 1_048_576,
  redirects: 3,
  connectMs: 3_000,
  headersMs: 5_000,
  totalMs: 10_000,
};

export interface Fetched {
  bytes: Uint8Array;
  /** The server's ETag for this state of the file, where it gives one. */
  etag?: string;
}

interface Head extends Fetched {
  /** Of the whole file; null if the server does not report it. */
  totalBytes: number | null;
}

interface FetchOptions {
  /** Whether the URL is the operator's: its address is not checked, but redirects are. */
  trusted?: boolean;
  signal?: AbortSignal;
  /** Most bytes of the body, 1 MiB when absent. */
  maxBytes?: number;
  /** Accepted media types; those of documents when absent. */
  accept?: string;
  /** ETag of a known state: a server whose file is unchanged answers 304, which is the fault `http_304`. */
  etag?: string;
}

/** Reads files from untrusted servers. */
export interface Fetcher {
  /** @throws Busy when the bounds do not allow the request now. */
  fetch(url: string, options?: FetchOptions): Promise<Fetched | Fault>;
  /** The first `length` bytes by a range request; the rest is never read. @throws Busy */
  fetchHead(url: string, length: number, options?: FetchOptions): Promise<Head | Fault>;
  close(): Promise<void>;
}

const unbounded = { perHost: 64, total: 64 };

export function createFetcher(rules: GuardRules, bounds: HostLimits = new HostLimits(unbounded)): Fetcher {
  let agents: Record<"guarded" | "open", Agent> | null = null;
  const load = async () => {
    // undici's own fetch: the global one does not accept this Agent, and agents of `node:http` do not guard fetch.
    // Loaded at the first request: a process that fetches nothing saves 8 MB.
    const { Agent, fetch } = await import("undici");
    agents ??= { guarded: new Agent(agentOptions(guardedLookup(rules))), open: new Agent(agentOptions()) };
    return { ...agents, fetch };
  };
  return {
    fetch: (url, options = {}) =>
      bounded(options, (control) =>
        follow(url, options, headersOf(options), control, (response) =>
          response.ok ? readBody(response, options.maxBytes ?? limits.bytes, control) : refuse(response),
        ),
      ),
    fetchHead: (url, length, options = {}) =>
      bounded(options, (control) =>
        // A part of a compressed file could not be decompressed, and its size would be the compressed one.
        follow(url, options, { range: `bytes=0-${length - 1}`, "accept-encoding": "identity" }, control, (response) =>
          response.ok ? readHead(response, length, control) : refuse(response),
        ),
      ),
    async close() {
      await Promise.all([agents?.guarded.destroy(), agents?.open.destroy()]);
    },
  };

  async function bounded<T extends Fetched>(
    { signal }: FetchOptions,
    work: (control: AbortController) => Promise<T | Fault>,
  ): Promise<T | Fault> {
    const control = new AbortController();
    const timer = setTimeout(() => control.abort(new TooSlow()), limits.totalMs);
    const stop = () => control.abort(signal?.reason);
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop);
    try {
      return await work(control);
    } catch (error) {
      if (error instanceof Busy) throw error;
      if (control.signal.reason instanceof TooSlow) return { fault: "fetch_timeout" };
      const found = causes(error);
      if (found.some((cause) => cause instanceof AddressRefused)) return { fault: "address_refused" };
      return { fault: found.some(isTimeout) ? "fetch_timeout" : "fetch_failed" };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
      // Cancels the rest of the answer.
      control.abort();
    }
  }

  async function follow<T>(
    start: string,
    { trusted = false }: FetchOptions,
    headers: Record<string, string>,
    control: AbortController,
    answer: (response: Response) => Promise<T | Fault>,
  ): Promise<T | Fault> {
    const { fetch, guarded, open } = await load();
    let url = parseUrl(start);
    for (let hop = 0; hop <= limits.redirects; hop += 1) {
      const free = trusted && hop === 0;
      if (!url || (!free && !isAllowedUrl(url, rules))) return { fault: "address_refused" };
      const leave = bounds.enter(url.host, free);
      try {
        const response: Response = await fetch(url, {
          dispatcher: free ? open : guarded,
          redirect: "manual",
          headers: { accept: "application/json, */*;q=0.5", "user-agent": "mintyard-metadata", ...headers },
          credentials: "omit",
          referrerPolicy: "no-referrer",
          signal: control.signal,
        });
        const location: string | null = response.headers.get("location");
        if (response.status < 300 || response.status > 399 || location === null) {
          bounds.answered(url.host, response.status, readRetryAfter(response.headers.get("retry-after")));
          return await answer(response);
        }
        await response.body?.cancel();
        const next: URL | null = parseUrl(location, url);
        if (next && url.protocol === "https:" && next.protocol === "http:") return { fault: "address_refused" };
        url = next;
      } finally {
        leave();
      }
    }
    return { fault: "too_many_redirects" };
  }
}

/** No server's ETag is longer; a longer one is not sent back. */
const mostEtag = 256;

function headersOf({ accept, etag }: FetchOptions): Record<string, string> {
  return { ...(accept ? { accept } : {}), ...(etag ? { "if-none-match": etag } : {}) };
}

function agentOptions(lookup?: ReturnType<typeof guardedLookup>) {
  return {
    allowH2: false,
    headersTimeout: limits.headersMs,
    bodyTimeout: limits.headersMs,
    maxHeaderSize: 16_384,
    connect: { timeout: limits.connectMs, ...(lookup ? { lookup } : {}) },
  };
}

async function refuse(response: Response): Promise<Fault> {
  await response.body?.cancel();
  const waitMs = readRetryAfter(response.headers.get("retry-after"));
  // 416: the file is empty, or the server handles ranges wrongly.
  return { fault: `http_${response.status}`, ...(waitMs === null ? {} : { waitMs }) };
}

async function readBody(response: Response, maxBytes: number, control: AbortController): Promise<Fetched | Fault> {
  // Stacked encodings expand a small body into a huge one.
  if ((response.headers.get("content-encoding") ?? "").includes(",")) {
    await response.body?.cancel();
    return { fault: "bad_encoding" };
  }
  if ((byteCount(response.headers.get("content-length")) ?? 0) > maxBytes) {
    await response.body?.cancel();
    return { fault: "too_large" };
  }
  if (!response.body) return { bytes: new Uint8Array() };
  const { bytes, whole } = await readSteadily(response.body as AsyncIterable<Uint8Array>, maxBytes, control);
  const etag = response.headers.get("etag");
  return whole ? { bytes, ...(etag && etag.length <= mostEtag ? { etag } : {}) } : { fault: "too_large" };
}

async function readHead(response: Response, length: number, control: AbortController): Promise<Head | Fault> {
  if (!/^(identity)?$/i.test(response.headers.get("content-encoding") ?? "")) {
    await response.body?.cancel();
    return { fault: "bad_encoding" };
  }
  if (!response.body) return { bytes: new Uint8Array(), totalBytes: 0 };
  const { bytes, whole } = await readSteadily(response.body as AsyncIterable<Uint8Array>, length, control);
  if (response.status !== 206) {
    const announcedBytes = byteCount(response.headers.get("content-length"));
    return { bytes, totalBytes: whole ? bytes.byteLength : announcedBytes };
  }
  return { bytes, totalBytes: byteCount(/\/(\d+)$/.exec(response.headers.get("content-range") ?? "")?.[1]) };
}

function byteCount(text: string | null | undefined): number | null {
  return text && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** Collects a stream up to the size limit of a document; further bytes are not read. */
export async function readCapped(stream: AsyncIterable<Uint8Array>): Promise<Fetched | Fault> {
  const bytes = await collectUntil(stream, (size) => size > limits.bytes);
  return bytes.byteLength > limits.bytes ? { fault: "too_large" } : { bytes };
}

function parseUrl(text: string, base?: URL): URL | null {
  return URL.canParse(text, base) ? new URL(text, base) : null;
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && /Timeout/.test(error.name);
}

function causes(error: unknown): unknown[] {
  const found: unknown[] = [];
  for (let at = error; at instanceof Error && found.length < 8; at = at.cause) {
    found.push(at);
    // One attempt per address family: the errors are combined.
    if (at instanceof AggregateError) found.push(...at.errors);
  }
  return found;
}

const graceMs = 2_000;
const leastBytesPerSecond = 1_024;

/** The server keeps a connection busy with next to no data. */
class TooSlow extends Error {
  override readonly name = "TooSlow";
}

/**
 * Collects a stream up to `maxBytes`; further bytes are not read.
 *
 * @param control aborted with `TooSlow` when the stream brings less than 1 KiB a second.
 */
async function readSteadily(
  stream: AsyncIterable<Uint8Array>,
  maxBytes: number,
  control: AbortController,
): Promise<{ bytes: Uint8Array; whole: boolean }> {
  let size = 0;
  const started = performance.now();
  const watch = setInterval(() => {
    const lateMs = performance.now() - started - graceMs;
    if (size < (lateMs / 1_000) * leastBytesPerSecond) control.abort(new TooSlow());
  }, 500);
  try {
    const bytes = await collectUntil(stream, (sizeNow) => {
      size = sizeNow;
      return size > maxBytes;
    });
    return { bytes: bytes.subarray(0, maxBytes), whole: size <= maxBytes };
  } finally {
    clearInterval(watch);
  }
}
