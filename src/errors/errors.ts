/**
 * Every code a client can get, with its HTTP status in `/v0` and whether sending the same request again can help. Codes
 * and statuses up to `service_unavailable` are the original service's, whose clients switch on `error.code`; the rest
 * are ours.
 */
export const errorTable = {
  authorization_missing: { status: 401, retryable: false },
  invalid_api_key: { status: 401, retryable: false },
  invalid_credentials: { status: 403, retryable: false },
  account_suspended: { status: 403, retryable: false },
  plan_limit_exceeded: { status: 403, retryable: false },
  scope_missing: { status: 403, retryable: false },
  csrf_token_invalid: { status: 403, retryable: false },
  sign_up_closed: { status: 403, retryable: false },
  invalid_address: { status: 422, retryable: false },
  chain_not_supported: { status: 422, retryable: false },
  invalid_date: { status: 422, retryable: false },
  invalid_continuation_string: { status: 422, retryable: false },
  value_error: { status: 422, retryable: false },
  invalid_enumeration: { status: 422, retryable: false },
  parameter_missing: { status: 422, retryable: false },
  invalid_type: { status: 422, retryable: false },
  metadata_frozen: { status: 422, retryable: false },
  not_found: { status: 404, retryable: false },
  transaction_pending: { status: 404, retryable: true },
  transaction_failed: { status: 404, retryable: false },
  method_not_allowed: { status: 405, retryable: false },
  request_timeout: { status: 408, retryable: true },
  file_too_large: { status: 413, retryable: false },
  unsupported_media_type: { status: 415, retryable: false },
  rate_limit_exceeded: { status: 429, retryable: true },
  internal_error: { status: 500, retryable: true },
  not_implemented: { status: 501, retryable: false },
  service_unavailable: { status: 503, retryable: true },
  storage_full: { status: 507, retryable: true },
  webhook_unverified: { status: 409, retryable: false },
  read_timeout: { status: 503, retryable: true },
  read_not_begun: { status: 503, retryable: true },
} as const satisfies Record<string, { status: number; retryable: boolean }>;

export type ErrorCode = keyof typeof errorTable;

export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(errorTable, text);
}

export interface ErrorContext {
  /** The input member at fault, in the caller's spelling. */
  field?: string | undefined;
  /** What was sent and what would be accepted; shown to the client, so never secrets or upstream text. */
  details?: Record<string, unknown> | undefined;
  /** What to do about it, if more specific than the code's guide. */
  fix?: string | undefined;
  /** Seconds after which a retry makes sense. */
  retryAfterSeconds?: number | undefined;
  cause?: unknown;
}

/** A failure raised on purpose. Anything else that is thrown is logged and shown as `internal_error`. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: ErrorCode;
  readonly field: string | undefined;
  readonly details: Record<string, unknown> | undefined;
  readonly fix: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  /** @param message for the person who has to change something: what is wrong and what would be accepted. */
  constructor(code: ErrorCode, message: string, context: ErrorContext = {}) {
    super(message, context.cause === undefined ? undefined : { cause: context.cause });
    this.code = code;
    this.field = context.field;
    this.details = context.details;
    this.fix = context.fix;
    this.retryAfterSeconds = context.retryAfterSeconds;
  }

  get status(): number {
    return errorTable[this.code].status;
  }

  get retryable(): boolean {
    return errorTable[this.code].retryable;
  }
}

/** The failure of a member whose type is not `wanted`, such as "a whole number". */
export function wrongType(field: string, wanted: string): ServiceError {
  return new ServiceError("invalid_type", `${field} must be ${wanted}`, { field, fix: `Send ${field} as ${wanted}.` });
}
