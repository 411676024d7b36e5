import { type ErrorCode, type ErrorContext, ServiceError } from "../errors/errors.ts";

/** Shape, then range, then plan: the order in which clients of the original service expect faults. */
const ranks: Partial<Record<ErrorCode, number>> = {
  invalid_enumeration: 0,
  chain_not_supported: 0,
  invalid_address: 0,
  invalid_date: 0,
  value_error: 1,
  plan_limit_exceeded: 2,
};

/** Collects every fault of an input, so that the client can fix them all at once. */
export class Problems {
  readonly #found: ServiceError[] = [];

  add(code: ErrorCode, field: string, message: string): void {
    this.#found.push(new ServiceError(code, message, { field }));
  }

  /** Runs a check and collects a `ServiceError` that it throws. */
  attempt<T>(check: () => T): T | undefined {
    try {
      return check();
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      this.#collect(error);
      return undefined;
    }
  }

  /** As `attempt`, for an asynchronous check. */
  async attemptLater<T>(check: () => Promise<T>): Promise<T | undefined> {
    try {
      return await check();
    } catch (error) {
      this.attempt(() => {
        throw error;
      });
      return undefined;
    }
  }

  /** An error with several problems adds all of them. */
  #collect(error: ServiceError): void {
    const problems = error.details?.["problems"];
    if (!Array.isArray(problems)) {
      this.#found.push(error);
      return;
    }
    for (const { code, field, message } of problems as { code: ErrorCode; field?: string; message: string }[])
      this.#found.push(new ServiceError(code, message, field === undefined ? {} : { field }));
  }

  /** Throws the gravest, with all of them in `details.problems`. */
  check(): void {
    const first = this.#found.toSorted((a, b) => (ranks[a.code] ?? 1) - (ranks[b.code] ?? 1))[0];
    if (!first) return;
    const problems = this.#found.map(({ code, field, message }) => ({ field, code, message }));
    throw new ServiceError(first.code, first.message, {
      ...(first.field === undefined ? {} : { field: first.field }),
      ...(first.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: first.retryAfterSeconds }),
      details: { ...first.details, problems },
    });
  }
}

/** Renames the input members in a use case's error to their names in an API. */
export async function withFieldNames<T>(result: Promise<T>, rename: (field: string) => string): Promise<T> {
  try {
    return await result;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw renameFields(error, (field) => (field === undefined ? undefined : rename(field)));
  }
}

/** The same error with the members at fault renamed; a name may be added where there was none. */
export function renameFields(
  error: ServiceError,
  rename: (field: string | undefined) => string | undefined,
): ServiceError {
  const { code, message, details, fix, retryAfterSeconds } = error;
  const context: ErrorContext = { cause: error, fix };
  const field = rename(error.field);
  if (field !== undefined) context.field = field;
  if (retryAfterSeconds !== undefined) context.retryAfterSeconds = retryAfterSeconds;
  if (details) context.details = details;
  const problems = details?.["problems"];
  if (Array.isArray(problems)) {
    const renamed = (problems as { field?: string }[]).map((problem) => ({ ...problem, field: rename(problem.field) }));
    context.details = { ...details, problems: renamed };
  }
  return new ServiceError(code, message, context);
}
