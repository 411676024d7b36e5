import type { Session } from "../auth/caller.ts";
import { perDay, type RateBudget } from "../auth/rate-limit.ts";
import type { Services } from "../services.ts";
import { type Admission, tooFast } from "./admit.ts";

/** Keyless questions from one address: a minting page asks one or two for each visitor. */
export const questions: RateBudget = { perSecond: 5, burst: 60 };
/**
 * The daily budget, 750: each question may take two node calls, which cost money (docs/limits.md). Many are allowed at
 * once, because one address may serve two hundred visitors of a launch who each ask three questions within an hour.
 */
export const questionsOfDay: RateBudget = { burst: 600, perSecond: 150 / 86_400 };
/** The daily budget of an account on a plan with daily limits. An account that needs more takes another plan. */
export const questionsOfAccount = perDay(400);
/**
 * Node calls per day that the pages of an address, or an account in the console, may cause. One comes back each minute,
 * which is what the mint page of a quiet collection takes all day; 200 more are available at once.
 */
export const readingsOfDay: RateBudget = { burst: 200, perSecond: 1 / 60 };

/**
 * Admits keyless questions, by the client's address; the budget is shared by all processes.
 *
 * @param address of the client; null: the connection has gone, and nobody reads the answer.
 * @param cost questions in the request.
 * @param ofDay those of them that cost money; questions to local chains do not.
 * @throws ServiceError `rate_limit_exceeded`.
 */
export async function admitAddress(
  services: Services,
  address: string | null,
  { cost, ofDay }: { cost: number; ofDay: number },
  report: (admission: Admission) => void,
): Promise<void> {
  if (address === null || !services.config.rateLimits) return;
  const answer = await services.auth.limiter.take(`open:${address}`, questions, cost);
  report({ ...answer, bucket: "open" });
  if (!answer.allowed)
    throw tooFast(
      answer.retryAfterSeconds,
      `this address asks more than ${answer.limit} questions without a key at once`,
    );
  await admitDay(services, `open-day:${address}`, questionsOfDay, ofDay);
}

/** An account that pays for its own reads. */
export type Payer = Pick<Session, "accountId" | "plan">;

/**
 * Admits the reads that an open page repeats. They have a daily budget of their own: a page that stays open for hours
 * must not use up the questions that tell its visitor whether a wallet may mint.
 *
 * @param who an address, or a signed-in account, which then pays instead of its address.
 * @param calls node calls.
 */
export async function admitReading(services: Services, who: string | Payer | null, calls: number): Promise<void> {
  if (who === null || !services.config.rateLimits) return;
  const name = typeof who === "string" ? who : `account:${who.accountId}`;
  const answer = await services.auth.limiter.take(`page:${name}`, questions, calls);
  if (!answer.allowed)
    throw tooFast(answer.retryAfterSeconds, "these pages ask for more sales and balances than they may at once");
  if (typeof who !== "string" && who.plan.deployRequestsPerDay === null) return;
  await admitDay(services, `page-day:${name}`, readingsOfDay, calls);
}

/** Whether all nodes that this installation reads are its own. Then questions cost nothing, whichever node answers. */
export function asksLocalChainsOnly({ chains }: Pick<Services, "chains">): boolean {
  return chains.every(({ local, rpcUrls }) => local || rpcUrls.length === 0);
}

/**
 * Admits what an account with a key asks of nodes, on plans with daily limits. Its reads alone could cost too much,
 * because each may ask about thirty wallets.
 *
 * @throws ServiceError `rate_limit_exceeded`.
 */
export async function admitQuestions(services: Services, { accountId, plan }: Session, cost: number): Promise<void> {
  if (cost === 0 || plan.deployRequestsPerDay === null || !services.config.rateLimits) return;
  const day = await services.auth.limiter.take(`open-day:account:${accountId}`, questionsOfAccount, cost);
  if (!day.allowed)
    throw tooFast(
      day.retryAfterSeconds,
      `your plan includes ${inADay(questionsOfAccount)} questions to nodes in a day`,
    );
}

async function admitDay({ auth }: Services, name: string, budget: RateBudget, cost: number): Promise<void> {
  if (cost === 0) return;
  const day = await auth.limiter.take(name, budget, cost);
  if (!day.allowed)
    throw tooFast(
      day.retryAfterSeconds,
      `this address has asked the questions that it has in a day without a key, ${inADay(budget)}; with a key you have your own`,
    );
}

const inADay = ({ burst, perSecond }: RateBudget) => Math.round(burst + perSecond * 86_400);
