import type { ObjectFieldBuilder } from "@pothos/core";
import { fixFor } from "../errors/error-guide.ts";
import { type ErrorCode, errorTable, isErrorCode, ServiceError } from "../errors/errors.ts";
import { asUnavailable } from "../errors/unavailable.ts";
import { type Builder, oncePerBuilder, type Types } from "./builder.ts";

/** A failure that the caller of a mutation can correct. */
export interface UserError {
  code: string;
  /** The input member at fault; null if no single one is. */
  field: string | null;
  message: string;
  /** What to do about it, if more specific than the code's guide. */
  fix?: string | undefined;
}

/** The type of `userErrors` in every mutation's payload. */
export const userErrorType = oncePerBuilder((builder) =>
  builder.objectRef<UserError>("UserError").implement({
    description: "An error in a mutation that the client can fix. All other errors are in the answer's `errors`.",
    fields: (t) => ({
      code: t.exposeString("code", {
        description: "A stable error code, such as value_error. The REST API has the same codes.",
      }),
      field: t.exposeString("field", {
        nullable: true,
        description: "The argument or input field with the error. Null if it is none in particular.",
      }),
      message: t.exposeString("message", { description: "What is wrong, in English." }),
      fix: t.string({
        description: "How to fix it, in English.",
        resolve: ({ code, field, fix }) =>
          fixFor({ code: isErrorCode(code) ? code : "value_error", field: field ?? undefined, fix }),
      }),
    }),
  }),
);

/** A mutation's payload: its result, or the errors that prevented it. */
export type Payload<T> = Partial<T> & { userErrors: readonly UserError[] };

/** The type of a mutation's payload: the fields and `userErrors`. @param mutations those that return it, in words. */
export function payloadType<T extends object>(
  builder: Builder,
  name: string,
  mutations: string,
  fields: (t: ObjectFieldBuilder<Types, Payload<T>>) => Record<string, ReturnType<typeof t.field>>,
) {
  return builder.objectRef<Payload<T>>(name).implement({
    description: `The answer of ${mutations}: the result, or the errors that the client can fix.`,
    fields: (t) => ({
      userErrors: t.field({
        type: [userErrorType(builder)],
        description: "The errors that the client can fix. Empty if the mutation succeeded.",
        resolve: ({ userErrors }, _, { refused }) => {
          if (userErrors[0]) refused?.(userErrors[0].code);
          return [...userErrors];
        },
      }),
      ...fields(t),
    }),
  });
}

/**
 * Runs a mutation's use case for an account and sorts its failures: those that the caller can correct become user
 * errors, one for each problem; authentication, limits and outages are thrown.
 *
 * @param ofRefusal payload members to return with the user errors.
 */
export async function withUserErrors<A, T extends object>(
  account: A | Promise<A>,
  run: (account: A) => Promise<T>,
  ofRefusal: (error: ServiceError) => Partial<T> = () => ({}),
): Promise<Payload<T>> {
  const known = await account;
  try {
    return { ...(await run(known)), userErrors: [] };
  } catch (thrown) {
    const error = asUnavailable(thrown) ?? thrown;
    if (!(error instanceof ServiceError && isMendable(error))) throw error;
    return { ...ofRefusal(error), userErrors: toUserErrors(error) };
  }
}

function isMendable(error: ServiceError): boolean {
  const refused: ErrorCode[] = ["invalid_credentials", "account_suspended", "not_implemented"];
  const { status, retryable } = errorTable[error.code];
  return status > 401 && status < 500 && !retryable && !refused.includes(error.code);
}

/** One user error for each problem of the failure. */
export function toUserErrors({ code, field, message, details, fix }: ServiceError): UserError[] {
  const problems = details?.["problems"];
  if (Array.isArray(problems)) {
    return (problems as { code: string; field?: string; message: string }[]).map((problem) => ({
      code: problem.code,
      field: problem.field ?? null,
      message: problem.message,
    }));
  }
  return [{ code, field: field ?? null, message, fix }];
}
