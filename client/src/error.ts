import type { components } from "./generated/openapi.ts";

/**
 * The codes of the service, and `no_answer` where it gave none. GraphQL says `rate_limit_exceeded` where REST says
 * `too_many_requests`.
 */
export type ErrorCode = components["schemas"]["Error"]["error"]["code"] | "rate_limit_exceeded" | "no_answer";

/** What is wrong with which member of a request. */
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

/** A request that the service refused, in its own words, or did not answer. */
export class MintyardError extends Error {
  override readonly name = "MintyardError";
  /** Of the HTTP answer: 200 for most errors of GraphQL, 0 where there was none. */
  readonly status: number;
  /** Never renamed: compare this one, not the message. */
  readonly code: ErrorCode | (string & {});
  /** What to do about it; empty where nothing is known. */
  readonly fix: string;
  /** Names the request in the server's log; empty where the answer has none. */
  readonly requestId: string;
  /** All faults of the input. */
  readonly problems: readonly Problem[];
  /** How long the service asks you to wait; undefined where it does not say. */
  readonly retryAfterMs: number | undefined;
  /** What GraphQL answered beside the errors: fields that failed are null in it. */
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

/** The code of an answer that names none, as those of proxies do. */
export function codeOfStatus(status: number): ErrorCode {
  if (status === 429) return "too_many_requests";
  return status === 408 ? "request_timeout" : status >= 502 && status <= 504 ? "service_unavailable" : "internal_error";
}
