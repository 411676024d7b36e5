import { ServiceError } from "./errors.ts";

/** The database is unreachable, starting, full or too busy; 25006: a primary that has just become a standby. */
const codes = new Set(
  (
    "08000 08001 08003 08004 08006 25006 25P03 40001 40P01 53000 53300 53400 55P03 57014 57P01 57P02 57P03 " +
    "ECONNREFUSED ECONNRESET EPIPE ETIMEDOUT"
  ).split(" "),
);
/** The pg library's own errors have no code. */
const texts =
  /^(timeout exceeded when trying to connect|Connection terminated|Client has encountered a connection error|database "[^"]+" is not currently accepting connections)/;

/**
 * Converts a database error for the client: `service_unavailable` with a retry time if it will pass by itself,
 * `storage_full`, `plan_limit_exceeded` for a used-up quota, `value_error` for text it cannot store.
 *
 * @returns null for any other error.
 */
export function asUnavailable(error: unknown): ServiceError | null {
  if (!(error instanceof Error)) return null;
  const { code } = error as Error & { code?: unknown };
  // Raised by the trigger that counts an account's usage; its text is written for the client.
  if (code === "MY001") return new ServiceError("plan_limit_exceeded", error.message, { cause: error });
  if (code === "53100")
    return new ServiceError("storage_full", "the disk of the database is full; nothing of this request was kept", {
      retryAfterSeconds: 60,
      cause: error,
    });
  // A character that PostgreSQL cannot store (NUL): it can only come from the request.
  if (code === "22021" || code === "22P05")
    return new ServiceError("value_error", "a text of the request holds characters that cannot be stored", {
      cause: error,
    });
  if (!(typeof code === "string" && codes.has(code)) && !texts.test(error.message)) return null;
  return new ServiceError("service_unavailable", "the database does not answer in time; try again in a moment", {
    retryAfterSeconds: 1,
    cause: error,
  });
}
