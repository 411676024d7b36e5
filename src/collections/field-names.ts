import { type ErrorContext, ServiceError } from "../errors/errors.ts";

/**
 * Renames the input members in a failure of a use case to what a API's clients call them.
 *
 * @param rename from the use case's own name to the API's.
 */
export async function withFieldNames<T>(result: Promise<T>, rename: (field: string) => string): Promise<T> {
  try {
    return await result;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const context: ErrorContext = { cause: error };
    if (error.field !== undefined) context.field = rename(error.field);
    if (error.retryAfterSeconds !== undefined) context.retryAfterSeconds = error.retryAfterSeconds;
    if (error.details) context.details = renameProblems(error.details, rename);
    throw new ServiceError(error.code, error.message, context);
  }
}

function renameProblems(details: Record<string, unknown>, rename: (field: string) => string): Record<string, unknown> {
  const { problems } = details;
  if (!Array.isArray(problems)) return details;
  const renamed = (problems as { field?: string }[]).map((problem) =>
    problem.field === undefined ? problem : { ...problem, field: rename(problem.field) },
  );
  return { ...details, problems: renamed };
}
