import { guideOf } from "../errors/error-guide.ts";
import { type ErrorCode, errorTable } from "../errors/errors.ts";
import type { Operation } from "./schemas.ts";

/** An error as the reference lists it. */
export interface Failure {
  code: ErrorCode;
  status: number;
  cause: string;
  fix: string;
  retryable: boolean;
}

/** Statuses that any request may get: key, input, rate, server faults, and unavailability. */
const common: ReadonlySet<number> = new Set([401, 403, 422, 429, 500, 503]);

/** All errors of the catalogue, by status. */
export function allFailures(): Failure[] {
  const codes = Object.keys(errorTable) as ErrorCode[];
  return codes.map(failureOf).sort((a, b) => a.status - b.status);
}

/** The errors specific to an operation. */
export function ownFailures({ path, responses }: Operation): Failure[] {
  const named = new Set(Object.values(responses).flatMap(({ description }) => description.split(/\W+/)));
  return allFailures().filter(({ code, status }) => {
    // The document lists all codes of a status, also those that cannot occur here.
    const isOfTransactions = code.startsWith("transaction_") && !path.includes("{transaction_hash}");
    return named.has(code) && !common.has(status) && !isOfTransactions;
  });
}

/** The errors that any operation may return. */
export function commonFailures(): Failure[] {
  return allFailures().filter(({ status }) => common.has(status));
}

function failureOf(code: ErrorCode): Failure {
  return { code, ...errorTable[code], ...guideOf(code) };
}
