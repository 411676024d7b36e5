import { guideOf } from "../errors/error-guide.ts";
import { type ErrorCode, errorTable, isErrorCode, ServiceError } from "../errors/errors.ts";
import { asUnavailable } from "../errors/unavailable.ts";
import { oncePerBuilder } from "./builder.ts";

/** A failure that the person behind a mutation can mend. */
export interface UserError {
  code: string;
  /** The input member at fault; null when it is none in particular. */
  field: string | null;
  message: string;
}

/** The type of `userErrors`: each mutation's payload shows it. */
export const userErrorType = oncePerBuilder((builder) =>
  builder.objectRef<UserError>("UserError").implement({
    description: "A failure that the caller can mend. Everything else is in the answer's `errors`.",
    fields: (t) => ({
      code: t.exposeString("code", { description: "The same codes as in `/v0`." }),
      field: t.exposeString("field", { nullable: true, description: "The input member at fault." }),
      message: t.exposeString("message"),
      fix: t.string({
        description: "What to do about it, by the code.",
        resolve: ({ code }) => guideOf(isErrorCode(code) ? code : "value_error").fix,
      }),
    }),
  }),
);

/**
 * Runs a mutation's use case and sorts its failures: what the caller can mend comes back as user
 * errors, one for each problem; authentication, limits and outages are thrown on.
 *
 * @param onRefusal is told the failure that became user errors, for payloads that show more of it.
 */
export async function withUserErrors<T>(
  run: () => Promise<T>,
  onRefusal: (error: ServiceError) => void = () => undefined,
): Promise<{ result: T | null; userErrors: readonly UserError[] }> {
  try {
    return { result: await run(), userErrors: [] };
  } catch (thrown) {
    const error = asUnavailable(thrown) ?? thrown;
    if (!(error instanceof ServiceError && isMendable(error))) throw error;
    onRefusal(error);
    return { result: null, userErrors: toUserErrors(error) };
  }
}

function isMendable(error: ServiceError): boolean {
  const refused: ErrorCode[] = ["invalid_credentials", "account_suspended", "not_implemented"];
  const { status, retryable } = errorTable[error.code];
  return status > 401 && status < 500 && !retryable && !refused.includes(error.code);
}

/** One for each problem of a failure. */
export function toUserErrors({ code, field, message, details }: ServiceError): UserError[] {
  const problems = details?.["problems"];
  if (Array.isArray(problems)) {
    return (problems as { code: string; field?: string; message: string }[]).map((problem) => ({
      code: problem.code,
      field: problem.field ?? null,
      message: problem.message,
    }));
  }
  return [{ code, field: field ?? null, message }];
}
