import { backoffMs } from "../backoff.ts";

/**
 * Why a token's metadata could not be read. A third party's bad contract, server or file is a result to
 * store in the token's row, not an exception.
 */
export type FaultCode =
  /** The node did not answer; nothing is known about the contract. */
  | "rpc_unavailable"
  | "call_failed"
  /** It needs more gas than a call may have (METADATA_CALL_GAS). */
  | "call_out_of_gas"
  | "call_timeout"
  /** It returns more than a call may (METADATA_CALL_BYTES). */
  | "call_too_large"
  | "call_bad_return"
  | "uri_empty"
  | "uri_unsupported"
  | "address_refused"
  | "ipfs_not_found"
  | "ipfs_is_directory"
  | "cid_mismatch"
  /** A server's status that is no success: `http_404`. */
  | `http_${number}`
  | "too_many_redirects"
  | "bad_encoding"
  | "fetch_failed"
  | "fetch_timeout"
  | "too_large"
  /** The server has as many of our requests as it gets; of images only, documents wait. */
  | "host_busy"
  | "not_media"
  /** Of an image whose server does not say how large it is, and that is larger than what is read of it. */
  | "size_unknown"
  | "not_json"
  | "not_an_object"
  | "too_complex"
  /** A defect of ours; the log has it. */
  | "internal_error";

export interface Fault {
  fault: FaultCode;
  /** How long the server wants to be left alone, bounded; absent: it does not say. */
  waitMs?: number;
}

export function isFault(value: object): value is Fault {
  return "fault" in value;
}

/** Faults that say more about the moment than about the file. */
export function mayPass(fault: FaultCode): boolean {
  if (fault.startsWith("http_")) return fault !== "http_410";
  return ["rpc_unavailable", "ipfs_not_found", "fetch_failed", "fetch_timeout", "host_busy"].includes(fault);
}

/** The last try is some four days after the first, and eight hours where the contract's call failed. */
const mostAttempts = 8;
const dayMs = 86_400_000;
const silentNode = { firstMs: 2_000, mostMs: 300_000 };
/** Tokens of one contract fail together; they need not all come back together. `mostAttempts` is the bound. */
const growing = { factor: 4, jitter: 0.1, mostMs: 4 * dayMs };

/** The pause after a first try, where it is not a minute. */
const firstPauses: Partial<Record<FaultCode, number>> = {
  ...{ call_failed: 5_000, call_timeout: 5_000 },
  // They are over when the server says so.
  ...{ http_429: 300_000 },
  // The server knows us, and refuses.
  ...{ http_401: 600_000, http_403: 600_000, http_451: 600_000 },
  // As good as for ever: the file has gone, or the operator has to raise a bound.
  ...{ http_410: 3_600_000, call_out_of_gas: 3_600_000, call_too_large: 3_600_000 },
};

/**
 * When to try again after a fault: mostly in a minute, then four times as long each time, and never before the server wants
 * it.
 *
 * @param attempts how often it was tried, this time included.
 * @returns null after the last try: it is read again when a reader asks for it, or when the contract announces a change.
 */
export function retryAfterMs({ fault, waitMs = 0 }: Fault, attempts: number): number | null {
  // A silent node says nothing about the token; and a node that lags behind its siblings refuses a
  // block that it will know in seconds.
  if (fault === "rpc_unavailable") return backoffMs(attempts, silentNode);
  if (attempts >= mostAttempts) return null;
  return Math.max(waitMs, backoffMs(attempts, { ...growing, firstMs: firstPauses[fault] ?? 60_000 }));
}

/** The longest that a server may put us off. */
const mostWaitMs = dayMs;

/** What `Retry-After` says, in seconds or as a date (RFC 9110, 10.2.3). @returns null for none, and for what is neither. */
export function readRetryAfter(value: string | null): number | null {
  const text = value?.trim() ?? "";
  const ms = /^\d+$/.test(text)
    ? Number(text) * 1_000
    : /^[A-Z][a-z]{2}/.test(text)
      ? Date.parse(text) - Date.now()
      : Number.NaN;
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), mostWaitMs);
}
