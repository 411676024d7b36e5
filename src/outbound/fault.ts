import { backoffMs } from "../backoff.ts";

/**
 * Why a token's metadata could not be read. A third party's bad contract, server or file is a result that is stored in
 * the token's row, not an exception.
 */
export type FaultCode =
  /** The node did not answer, so nothing is known about the contract. */
  | "rpc_unavailable"
  | "call_failed"
  /** The call needs more gas than is allowed (METADATA_CALL_GAS). */
  | "call_out_of_gas"
  | "call_timeout"
  /** The call returns more bytes than is allowed (METADATA_CALL_BYTES). */
  | "call_too_large"
  | "call_bad_return"
  | "uri_empty"
  | "uri_unsupported"
  | "address_refused"
  | "ipfs_not_found"
  | "ipfs_is_directory"
  | "cid_mismatch"
  /** An HTTP status other than success: `http_404`. */
  | `http_${number}`
  | "too_many_redirects"
  | "bad_encoding"
  | "fetch_failed"
  | "fetch_timeout"
  | "too_large"
  /** The server already gets as many of our requests as it may. For images only: documents wait. */
  | "host_busy"
  | "not_media"
  /** Of an image that exceeds the part that is read of it, and whose server does not report its size. */
  | "size_unknown"
  | "not_json"
  | "not_an_object"
  | "too_complex"
  /** A bug in this service; the log has the error. */
  | "internal_error";

export interface Fault {
  fault: FaultCode;
  /** Milliseconds after which the server permits another request, bounded; absent if it does not say. */
  waitMs?: number;
}

export function isFault(value: object): value is Fault {
  return "fault" in value;
}

/** Whether a fault may be temporary. */
export function mayPass(fault: FaultCode): boolean {
  if (fault.startsWith("http_")) return fault !== "http_410";
  return ["rpc_unavailable", "ipfs_not_found", "fetch_failed", "fetch_timeout", "host_busy"].includes(fault);
}

/** The last try comes some four days after the first, or eight hours where the contract's call failed. */
const mostAttempts = 8;
const dayMs = 86_400_000;
const silentNode = { firstMs: 2_000, mostMs: 300_000 };
/** Tokens of one contract fail at the same time; the jitter spreads their retries. `mostAttempts` is the bound. */
const growing = { factor: 4, jitter: 0.1, mostMs: 4 * dayMs };

/** Pauses after the first try, where they are not a minute. */
const firstPauses: Partial<Record<FaultCode, number>> = {
  ...{ call_failed: 5_000, call_timeout: 5_000 },
  // The server decides when this is over.
  ...{ http_429: 300_000 },
  // The server refuses us in particular.
  ...{ http_401: 600_000, http_403: 600_000, http_451: 600_000 },
  // As good as permanent: the file is gone, or the operator has to raise a bound.
  ...{ http_410: 3_600_000, call_out_of_gas: 3_600_000, call_too_large: 3_600_000 },
};

/**
 * When to try again: usually in a minute, then four times as long each time, and never before the server permits it.
 *
 * @param attempts number of tries, including this one.
 * @returns null after the last try: it is read again when a client requests it or the contract announces a change.
 */
export function retryAfterMs({ fault, waitMs = 0 }: Fault, attempts: number): number | null {
  // A silent node says nothing about the token, and a node that lags behind its siblings refuses a block that it will
  // have in seconds.
  if (fault === "rpc_unavailable") return backoffMs(attempts, silentNode);
  if (attempts >= mostAttempts) return null;
  return Math.max(waitMs, backoffMs(attempts, { ...growing, firstMs: firstPauses[fault] ?? 60_000 }));
}

/** The longest `Retry-After` that is respected. */
const mostWaitMs = dayMs;

/** Reads `Retry-After`, in seconds or as a date (RFC 9110, 10.2.3). @returns ms; null if it is absent or malformed. */
export function readRetryAfter(value: string | null): number | null {
  const text = value?.trim() ?? "";
  const ms = /^\d+$/.test(text)
    ? Number(text) * 1_000
    : /^[A-Z][a-z]{2}/.test(text)
      ? Date.parse(text) - Date.now()
      : Number.NaN;
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), mostWaitMs);
}
