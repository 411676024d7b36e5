import type { Caller } from "../auth/caller.ts";
import { readTimeout } from "../db/pool/read-errors.ts";
import { type Answer, RequestEnd, requestEnd, withReadScope, withTenantScope } from "../db/tenancy/tenant.ts";

/**
 * Runs what serves one request; the database shows it the rows of the account that `authenticate` finds within.
 *
 * @param answer of the request: when its client goes away, statements under way are cancelled.
 */
export function inRequestScope<T>(run: () => T, answer: Answer | null = null): T {
  return withTenantScope(run, new RequestEnd(answer));
}

/** Runs reads of the index for an account, until the client goes away. They see no tenant's rows. */
export function inReadScope<T>({ accountId: account, tier }: Caller, answer: Answer, run: () => T): T {
  return withReadScope({ account, tier }, new RequestEnd(answer), run);
}

/** A timer may come that much early. */
const leastLookMs = 5;

/**
 * Runs a query of several reads, for as long as one of them may take.
 *
 * @param limitMs from then on its statements are cancelled. The time in which one waits for a connection does not count.
 * @throws ServiceError `read_timeout`.
 */
export async function withinTime<T>(limitMs: number, run: () => T): Promise<Awaited<T>> {
  let timer: NodeJS.Timeout | undefined;
  const end = requestEnd();
  const begunAt = performance.now() - (end?.waitedMs ?? 0);
  const late = new Promise<never>((_, failed) => {
    const look = () => {
      const leftMs = begunAt + limitMs + (end?.waitedMs ?? 0) - performance.now();
      if (leftMs > leastLookMs) {
        timer = setTimeout(look, leftMs);
        return;
      }
      const over = readTimeout(limitMs);
      // First of all the answer: what is cancelled then fails with nobody left to hear it.
      failed(over);
      end?.end(over);
    };
    timer = setTimeout(look, limitMs);
  });
  try {
    return await Promise.race([run(), late]);
  } finally {
    clearTimeout(timer);
  }
}
