import type { components } from "./generated/openapi.ts";

/**
 * The service's codes, and `no_answer` if it gave none. GraphQL uses `rate_limit_exceeded` where REST uses
 * `too_many_requests`.
 */
export type ErrorCode = components["schemas"]["Error"]["error"]["code"] | "rate_limit_exceeded" | "no_answer";

/** A fault of one member of a request. */
export interface Problem {
  field: string;
  message: string;
}

interface ErrorFacts {
  status: number;
  code: string;
  fix?: string | undefined;
  requestId?: string | undefined;
  problems?: readonly Problem[] | undefined;
  retryAfterMs?: number | undefined;
  data?: unknown;
  cause?: unknown;
}

/** A request that the service refused, with the service's own text, or did not answer. */
export class MintyardError extends Error {
  override readonly name = "MintyardError";
  /** HTTP status: 200 for most GraphQL errors, 0 if there was no answer. */
  readonly status: number;
  /** Never renamed: compare this one, not the message. */
  readonly code: ErrorCode | (string & {});
  /** What to do about it; empty if unknown. */
  readonly fix: string;
  /** Identifies the request in the server's log; empty if the answer has none. */
  readonly requestId: string;
  /** All faults of the input. */
  readonly problems: readonly Problem[];
  /** How long the service asks you to wait; undefined if it does not say. */
  readonly retryAfterMs: number | undefined;
  /** The data that GraphQL returned along with the errors; failed fields are null in it. */
  readonly data: unknown;

  constructor(message: string, facts: ErrorFacts) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.status = facts.status;
    this.code = facts.code;
    this.fix = facts.fix ?? "";
    this.requestId = facts.requestId ?? "";
    this.problems = facts.problems ?? [];
    this.retryAfterMs = facts.retryAfterMs;
    this.data = facts.data;
  }
}

/** The code for an answer without one, such as a proxy's. */
export function codeOfStatus(status: number): ErrorCode {
  if (status === 429) return "too_many_requests";
  return status === 408 ? "request_timeout" : status >= 502 && status <= 504 ? "service_unavailable" : "internal_error";
}
