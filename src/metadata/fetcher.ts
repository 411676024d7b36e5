import { Agent, fetch, type Response } from "undici";
import { AddressRefused, type GuardRules, guardedLookup, isAllowedUrl } from "./address-guard.ts";
import type { Fault } from "./fault.ts";

const limits = {
  /** Of the decompressed body. */
  bytes: 1_048_576,
  redirects: 3,
  connectMs: 3_000,
  headersMs: 5_000,
  totalMs: 10_000,
  perHost: 4,
};

export interface Fetched {
  bytes: Uint8Array;
}

/** Reads files from servers that nobody vouches for. */
export interface Fetcher {
  /** @param trusted the operator named this URL: its address is not checked, redirects are. */
  fetch(url: string, options?: { trusted?: boolean; signal?: AbortSignal }): Promise<Fetched | Fault>;
  close(): Promise<void>;
}

export function createFetcher(rules: GuardRules): Fetcher {
  // undici's own fetch: the global one does not take this Agent, and agents of `node:http` do not guard fetch.
  const guarded = makeAgent(guardedLookup(rules));
  const open = makeAgent();
  return {
    async fetch(url, { trusted = false, signal } = {}) {
      const timer = AbortSignal.timeout(limits.totalMs);
      const both = signal ? AbortSignal.any([timer, signal]) : timer;
      try {
        return await follow(url, trusted, both);
      } catch (error) {
        if (timer.aborted) return { fault: "fetch_timeout" };
        return {
          fault: causes(error).some((cause) => cause instanceof AddressRefused) ? "address_refused" : "fetch_failed",
        };
      }
    },
    async close() {
      await Promise.all([guarded.destroy(), open.destroy()]);
    },
  };

  async function follow(start: string, trusted: boolean, signal: AbortSignal): Promise<Fetched | Fault> {
    let url = parseUrl(start);
    for (let hop = 0; hop <= limits.redirects; hop += 1) {
      const free = trusted && hop === 0;
      if (!url || (!free && !isAllowedUrl(url, rules))) return { fault: "address_refused" };
      const response = await fetch(url, {
        dispatcher: free ? open : guarded,
        redirect: "manual",
        headers: { accept: "application/json, */*;q=0.5", "user-agent": "mintyard-metadata" },
        credentials: "omit",
        referrerPolicy: "no-referrer",
        signal,
      });
      const location = response.headers.get("location");
      if (response.status < 300 || response.status > 399 || location === null) return await readAnswer(response);
      await response.body?.cancel();
      const next: URL | null = parseUrl(location, url);
      if (next && url.protocol === "https:" && next.protocol === "http:") return { fault: "address_refused" };
      url = next;
    }
    return { fault: "too_many_redirects" };
  }
}

function makeAgent(lookup?: ReturnType<typeof guardedLookup>): Agent {
  return new Agent({
    allowH2: false,
    connections: limits.perHost,
    headersTimeout: limits.headersMs,
    bodyTimeout: limits.headersMs,
    maxHeaderSize: 16_384,
    connect: { timeout: limits.connectMs, ...(lookup ? { lookup } : {}) },
  });
}

async function readAnswer(response: Response): Promise<Fetched | Fault> {
  if (!response.ok) {
    await response.body?.cancel();
    return { fault: "http_status" };
  }
  // Stacked encodings multiply a small body into a huge one.
  if ((response.headers.get("content-encoding") ?? "").includes(",")) {
    await response.body?.cancel();
    return { fault: "bad_encoding" };
  }
  return response.body ? await readCapped(response.body as AsyncIterable<Uint8Array>) : { bytes: new Uint8Array() };
}

/** Collects a stream up to the limit of a document; what lies beyond is not read. */
export async function readCapped(stream: AsyncIterable<Uint8Array>): Promise<Fetched | Fault> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.byteLength;
    if (size > limits.bytes) return { fault: "too_large" };
    chunks.push(chunk);
  }
  return { bytes: Buffer.concat(chunks) };
}

function parseUrl(text: string, base?: URL): URL | null {
  return URL.canParse(text, base) ? new URL(text, base) : null;
}

function causes(error: unknown): unknown[] {
  const found: unknown[] = [];
  for (let at = error; at instanceof Error && found.length < 8; at = at.cause) {
    found.push(at);
    // One attempt per address family fails together.
    if (at instanceof AggregateError) found.push(...at.errors);
  }
  return found;
}
