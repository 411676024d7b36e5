import { backoffMs } from "../backoff.ts";

/**
 * Why a token's metadata could not be read. A third party's bad contract, server or file is a result to
 * store in the token's row, not an exception.
 */
export type FaultCode =
  /** The node did not answer; nothing is known about the contract. */
  | "rpc_unavailable"
  | "call_failed"
  | "call_timeout"
  | "call_too_large"
  | "call_bad_return"
  | "uri_empty"
  | "uri_unsupported"
  | "address_refused"
  | "ipfs_not_found"
  | "ipfs_is_directory"
  | "cid_mismatch"
  | "http_status"
  | "too_many_redirects"
  | "bad_encoding"
  | "fetch_failed"
  | "fetch_timeout"
  | "too_large"
  /** The server has as many of our requests as it gets; of images only, documents wait. */
  | "host_busy"
  | "not_media"
  | "not_json"
  | "not_an_object"
  | "too_complex"
  /** A defect of ours; the log has it. */
  | "internal_error";

export interface Fault {
  fault: FaultCode;
}

export function isFault(value: object): value is Fault {
  return "fault" in value;
}

/** Faults that say more about the moment than about the file. */
export function mayPass(fault: FaultCode): boolean {
  return ["rpc_unavailable", "ipfs_not_found", "http_status", "fetch_failed", "fetch_timeout", "host_busy"].includes(
    fault,
  );
}

/** The last try is some four days after the first, and eight hours where the contract's call failed. */
const mostAttempts = 8;
const silentNode = { firstMs: 2_000, mostMs: 300_000 };
/** Tokens of one contract fail together; they need not all come back together. `mostAttempts` is the bound. */
const growing = { factor: 4, jitter: 0.1, mostMs: Number.POSITIVE_INFINITY };

/**
 * When to try again after a fault: in a minute, then four times as long each time.
 *
 * @param attempts how often it was tried, this time included.
 * @returns null after the last try: it is read again when a reader asks for it, or when the contract announces a change.
 */
export function retryAfterMs(fault: FaultCode, attempts: number): number | null {
  // A silent node says nothing about the token; and a node that lags behind its siblings refuses a
  // block that it will know in seconds.
  if (fault === "rpc_unavailable") return backoffMs(attempts, silentNode);
  if (attempts >= mostAttempts) return null;
  const firstMs = fault === "call_failed" || fault === "call_timeout" ? 5_000 : 60_000;
  return backoffMs(attempts, { ...growing, firstMs });
}
