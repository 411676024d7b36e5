import { readTimeout } from "../db/pool/read-errors.ts";
import { type Answer, RequestEnd } from "../db/pool/request-end.ts";
import { requestEnd, withReadScope, withTenantScope } from "../db/tenancy/tenant.ts";

/**
 * Runs what serves one request; the database shows it the rows of the account that `authenticate` finds within.
 *
 * @param answer of the request: when its client goes away, statements under way are cancelled.
 */
export function inRequestScope<T>(run: () => T, answer: Answer | null = null): T {
  return withTenantScope(run, new RequestEnd(answer));
}

/** Runs reads of the index for an account, until the client goes away. They see no tenant's rows. */
export function inReadScope<T>(accountId: string, answer: Answer, run: () => T): T {
  return withReadScope(accountId, new RequestEnd(answer), run);
}

/**
 * Runs a query of several reads, for as long as one of them may take.
 *
 * @param limitMs from then on its statements are cancelled.
 * @throws ServiceError `read_timeout`.
 */
export async function withinTime<T>(limitMs: number, run: () => T): Promise<Awaited<T>> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, failed) => {
    timer = setTimeout(() => {
      const over = readTimeout(limitMs);
      // First of all the answer: what is cancelled then fails with nobody left to hear it.
      failed(over);
      requestEnd()?.end(over);
    }, limitMs);
  });
  try {
    return await Promise.race([run(), late]);
  } finally {
    clearTimeout(timer);
  }
}
