import { ServiceError } from "../../errors/errors.ts";

export function readTimeout(limitMs: number, cause?: unknown): ServiceError {
  return new ServiceError("read_timeout", `this read was ended after ${limitMs / 1000} s`, {
    retryAfterSeconds: 1,
    cause,
  });
}

/** The error of a read for which no connection became free in time. */
export function readNotBegun(waitMs: number): ServiceError {
  return new ServiceError(
    "read_not_begun",
    `this read waited ${waitMs / 1000} s for its turn among reads of its cost, and was not begun`,
    { retryAfterSeconds: 2 },
  );
}

/** The error of a read that finds the queue full. */
export function tooManyReads(): ServiceError {
  return new ServiceError("service_unavailable", "too many reads of this cost are waiting; try again in a moment", {
    retryAfterSeconds: 1,
  });
}

/** Raised by PostgreSQL's own `statement_timeout` and by a cancel request. */
export function isCancelled(error: unknown): boolean {
  return error instanceof Error && (error as Error & { code?: unknown }).code === "57014";
}
