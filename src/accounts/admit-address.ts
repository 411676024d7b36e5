import type { Session } from "../auth/caller.ts";
import { perDay, type RateBudget } from "../auth/rate-limit.ts";
import type { Services } from "../services.ts";
import { type Admission, tooFast } from "./admit.ts";

/** Questions without a key from one address: a minting page asks one or two for each visitor. */
export const questions: RateBudget = { perSecond: 5, burst: 60 };
/**
 * And 750 in a day: two calls of a node for each are a bill of some cents (docs/limits.md). An address may be that of the two hundred
 * visitors of a launch, who ask three each within an hour; hence so many at once.
 */
export const questionsOfDay: RateBudget = { burst: 600, perSecond: 150 / 86_400 };
/** The same of an account, where its plan counts days. An account that needs more takes another plan. */
export const questionsOfAccount = perDay(400);
/**
 * Calls of nodes that pages of an address may cause in a day, and those of an account in the console: one comes back each minute, which
 * is what a mint page of a quiet collection takes all day, and 200 are there beside them.
 */
export const readingsOfDay: RateBudget = { burst: 200, perSecond: 1 / 60 };

/**
 * Lets questions in that need no key, by the address they come from: all processes together give it no more.
 *
 * @param address of the client; null: the connection has gone, and nobody reads the answer.
 * @param cost questions of the request.
 * @param ofDay those of them that cost something: nodes of local chains do not.
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

/** An account that pays for itself. */
export type Payer = Pick<Session, "accountId" | "plan">;

/**
 * The same for what an open page makes this server ask again and again. Its day is one of its own: a page that is open for
 * hours must not keep its visitor from the question whether a wallet may mint.
 *
 * @param who an address, or an account that has signed in and takes nothing from its address then.
 * @param calls of a node.
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

/** Whether all nodes that this installation asks are its own: then a question costs nothing, whichever of them is asked. */
export function asksLocalChainsOnly({ chains }: Pick<Services, "chains">): boolean {
  return chains.every(({ local, rpcUrls }) => local || rpcUrls.length === 0);
}

/**
 * The same for what an account asks of nodes with a key, where its plan counts days: its reads alone would be a bill, since
 * each may ask about thirty wallets.
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
