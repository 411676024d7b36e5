import type { Session } from "../auth/caller.ts";
import { perDay, type RateBudget } from "../auth/rate-limit.ts";
import type { Services } from "../services.ts";
import { type Admission, tooFast } from "./admit.ts";

/** Questions without a key from one address: a minting page asks one or two for each visitor. */
export const questions: RateBudget = { perSecond: 5, burst: 60 };
/** And in a day: two calls of a node for each are a bill of some cents (docs/limits.md). An address may be that of many visitors. */
export const questionsOfDay = perDay(800);
/** The same of an account, where its plan counts days. Whoever needs more takes another plan. */
export const questionsOfAccount = perDay(400);
/** The same of what pages make this server ask. */
export const readingsOfDay = perDay(500);
/** What pages make this server ask, in questions: half as many as it asks of a node, the chain's id among them. */
export const costOfReading = { balance: 1, sale: 2, takings: 3 };
export type PageReading = keyof typeof costOfReading;

/**
 * Lets questions in that need no key, by the address they come from: all processes together give it no more.
 *
 * @param address of the client; null: the connection has gone, and nobody reads the answer.
 * @param cost questions of the request.
 * @throws ServiceError `rate_limit_exceeded`.
 */
export async function admitAddress(
  services: Services,
  address: string | null,
  cost: number,
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
  await admitDay(services, `open-day:${address}`, questionsOfDay, cost);
}

/**
 * The same for what an open page makes this server ask again and again. Its day is one of its own: a page that is open for
 * hours must not keep its visitor from the question whether a wallet may mint.
 */
export async function admitReading(services: Services, address: string | null, what: PageReading): Promise<void> {
  if (address === null || !services.config.rateLimits) return;
  const cost = costOfReading[what];
  const answer = await services.auth.limiter.take(`page:${address}`, questions, cost);
  if (!answer.allowed)
    throw tooFast(
      answer.retryAfterSeconds,
      "pages of this address ask for more sales and balances than they may at once",
    );
  await admitDay(services, `page-day:${address}`, readingsOfDay, cost);
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
  const day = await auth.limiter.take(name, budget, cost);
  if (!day.allowed)
    throw tooFast(
      day.retryAfterSeconds,
      `this address has asked the questions that it has in a day without a key, ${inADay(budget)}; with a key you have your own`,
    );
}

const inADay = ({ burst, perSecond }: RateBudget) => Math.round(burst + perSecond * 86_400);
