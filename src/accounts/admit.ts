import type { Session } from "../auth/caller.ts";
import { type Bucket, dayOf, rateOf } from "../auth/plans.ts";
import type { RateAnswer, RateBudget } from "../auth/rate-limit.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import type { Operation } from "./operations.ts";

/** The state of the account's bucket, or of its address's (`open`), for the reply; null: the plan has no such limit. */
export type Admission = (RateAnswer & { bucket: Bucket | "open" }) | null;

/**
 * Admits or refuses a request by its key's scopes, then by the account's rate and monthly quota. All keys of an account
 * share these, so a further key adds no rate.
 *
 * @param cost 1 for a REST request; by its complexity for a GraphQL operation.
 * @param report gets the state of the bucket before a refusal is thrown, so that the refusal shows it too.
 * @throws ServiceError `scope_missing`, `plan_limit_exceeded`, `rate_limit_exceeded`.
 */
export async function admit(
  services: Services,
  session: Session,
  operation: Operation,
  cost: number,
  report: (admission: Admission) => void,
): Promise<void> {
  const budget = budgetFor(services, session, operation, cost);
  checkRate(operation, budget && (await services.auth.limiter.take(rateKey(session, operation), budget, cost)), report);
  await admitDay(services, session, operation.bucket, cost);
  checkMonth(services, session, operation);
}

/**
 * `admit` for a read whose bucket this process can decide without waiting.
 *
 * @returns whether it was admitted; if not, nothing was taken or counted.
 */
export function admitRead(
  services: Services,
  session: Session,
  operation: Operation,
  cost: number,
  report: (admission: Admission) => void,
): boolean {
  if (operation.bucket !== "read") return false;
  const budget = budgetFor(services, session, operation, cost);
  const answer = budget && services.auth.limiter.takeKnown(rateKey(session, operation), budget, cost);
  if (budget && !answer) return false;
  checkRate(operation, answer, report);
  checkMonth(services, session, operation);
  return true;
}

const rateKey = ({ accountId }: Session, { bucket }: Operation) => `${bucket}:${accountId}`;

function budgetFor(services: Services, session: Session, operation: Operation, cost: number): RateBudget | null {
  requireScope(session, operation);
  const budget = services.config.rateLimits ? rateOf(session.plan, operation.bucket) : null;
  if (budget && cost > budget.burst)
    throw new ServiceError(
      "plan_limit_exceeded",
      `this costs as much as ${cost} requests, and the ${session.tier} plan has ${budget.burst} at once: ask for less in one operation`,
      { details: { limit: budget.burst, cost } },
    );
  return budget;
}

function checkRate(operation: Operation, answer: RateAnswer | null, report: (admission: Admission) => void): void {
  report(answer && { ...answer, bucket: operation.bucket });
  if (answer && !answer.allowed) throw tooFast(answer.retryAfterSeconds, `more than ${answer.limit} at once`);
}

/** Counts the request, unless the month's quota is used up. */
function checkMonth({ auth: { usage } }: Services, session: Session, operation: Operation): void {
  const { requestsPerMonth } = session.plan;
  if (operation.bucket === "read" && requestsPerMonth !== null) {
    const used = session.requestsThisMonth + usage.pending(session.accountId);
    if (used >= Number(requestsPerMonth)) {
      throw new ServiceError(
        "plan_limit_exceeded",
        `the ${session.tier} plan includes ${requestsPerMonth} data requests a month, and all are used`,
        { details: { limit: Number(requestsPerMonth), used } },
      );
    }
  }
  usage.add(session.accountId, session.keyId, operation.bucket === "read" ? 1 : 0);
}

/** @throws ServiceError `scope_missing`. */
export function requireScope(session: Session, operation: Operation): void {
  if (session.scopes.includes(operation.scope)) return;
  const has = session.scopes.join(", ");
  throw new ServiceError("scope_missing", `this key has the scopes ${has}; this needs ${operation.scope}`, {
    details: { needs: operation.scope, has: session.scopes },
  });
}

/** Takes from the plan's daily requests. Reads are counted per month instead, in memory. */
async function admitDay(
  { auth, config }: Services,
  { plan, accountId }: Session,
  bucket: Bucket,
  cost: number,
): Promise<void> {
  const budget = dayOf(plan, bucket);
  if (!budget || !config.rateLimits) return;
  const { allowed, retryAfterSeconds } = await auth.limiter.take(`${bucket}-day:${accountId}`, budget, cost);
  const most = bucket === "upload" ? plan.uploadRequestsPerDay : plan.deployRequestsPerDay;
  if (!allowed) throw tooFast(retryAfterSeconds, `your plan includes ${most} of these in a day`);
}

export function tooFast(retryAfterSeconds: number, why: string): ServiceError {
  return new ServiceError("rate_limit_exceeded", `too many requests: ${why}; wait ${retryAfterSeconds} s`, {
    retryAfterSeconds,
  });
}
