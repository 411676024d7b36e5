import type { Caller } from "../auth/caller.ts";
import { readTimeout } from "../db/pool/read-errors.ts";
import { type Answer, RequestEnd, requestEnd, withReadScope, withTenantScope } from "../db/tenancy/tenant.ts";

/**
 * Runs the handling of one request. The database shows it the rows of the account that `authenticate` finds inside.
 *
 * @param answer of the request: when its client leaves, running statements are cancelled.
 */
export function inRequestScope<T>(run: () => T, answer: Answer | null = null): T {
  return withTenantScope(run, new RequestEnd(answer));
}

/** Runs index reads for an account, until the client leaves. They see no tenant's rows. */
export function inReadScope<T>({ accountId: account, tier }: Caller, answer: Answer, run: () => T): T {
  return withReadScope({ account, tier }, new RequestEnd(answer), run);
}

/** A timer may fire this much early. */
const leastLookMs = 5;

/**
 * Runs a query of several reads within the time limit of a single read.
 *
 * @param limitMs after which its statements are cancelled. Time spent waiting for a connection does not count.
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
      // Reject the answer first, so that nobody is left to see the cancelled statements fail.
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
