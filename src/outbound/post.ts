import type { Agent } from "undici";
import { collectUntil } from "../read-at-most.ts";
import { AddressRefused, type GuardRules, guardedLookup, isAllowedUrl } from "./address-guard.ts";
import { readRetryAfter } from "./fault.ts";

const limits = { connectMs: 5_000, totalMs: 15_000, answerBytes: 1_024 };

/** A server's answer to a message. */
export interface Posted {
  status: number;
  /** The first kilobyte, as text. */
  answer: string;
  /** From `Retry-After`, in seconds from now; a day at most. */
  retryAfterSeconds: number | null;
}

export interface PostFault {
  fault: "address_refused" | "timeout" | "failed";
}

/** Sends messages to untrusted servers: no private addresses, no redirects, a bounded answer. */
export interface Poster {
  post(url: string, headers: Record<string, string>, body: string, signal: AbortSignal): Promise<Posted | PostFault>;
  close(): Promise<void>;
}

export function createPoster(rules: GuardRules): Poster {
  let agent: Agent | null = null;
  const open = async () => {
    // Loaded at the first message: a process that sends nothing saves 8 MB.
    const { Agent, fetch } = await import("undici");
    agent ??= new Agent({
      allowH2: false,
      headersTimeout: limits.totalMs,
      bodyTimeout: limits.totalMs,
      maxHeaderSize: 16_384,
      keepAliveTimeout: 4_000,
      connect: { timeout: limits.connectMs, lookup: guardedLookup(rules) },
    });
    return { dispatcher: agent, fetch };
  };
  return {
    async post(text, headers, body, signal) {
      const url = URL.canParse(text) ? new URL(text) : null;
      if (!url || !isAllowedUrl(url, rules)) return { fault: "address_refused" };
      const { dispatcher, fetch } = await open();
      const late = AbortSignal.timeout(limits.totalMs);
      try {
        const response = await fetch(url, {
          method: "POST",
          dispatcher,
          redirect: "manual",
          headers: { "content-type": "application/json", "user-agent": "mintyard-webhooks", ...headers },
          body,
          credentials: "omit",
          signal: AbortSignal.any([late, signal]),
        });
        const answer = await readStart(response.body);
        const waitMs = readRetryAfter(response.headers.get("retry-after"));
        return { status: response.status, answer, retryAfterSeconds: waitMs && Math.ceil(waitMs / 1_000) };
      } catch (error) {
        for (let cause = error; cause instanceof Error; cause = cause.cause)
          if (cause instanceof AddressRefused) return { fault: "address_refused" };
        return { fault: late.aborted || /timeout/i.test(String(error)) ? "timeout" : "failed" };
      }
    },
    close: async () => await agent?.destroy(),
  };
}

async function readStart(body: AsyncIterable<Uint8Array> | null): Promise<string> {
  if (!body) return "";
  const bytes = await collectUntil(body, (size) => size >= limits.answerBytes);
  // PostgreSQL's `text` accepts every character but NUL.
  return bytes.subarray(0, limits.answerBytes).toString("utf8").replaceAll("\0", "");
}
