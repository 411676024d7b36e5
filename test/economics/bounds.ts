import { questionsOfAccount, questionsOfDay, readingsOfDay } from "../../src/accounts/admit-address.ts";
import { documentsOfDay } from "../../src/accounts/document-budget.ts";
import { uncountedOfDay } from "../../src/accounts/failure-throttle.ts";
import { workOfDay } from "../../src/accounts/open-work.ts";
import { operationOfField, operationOfRoute } from "../../src/accounts/operations.ts";
import { defaultPlans } from "../../src/auth/plans.ts";
import { perDay, type RateBudget } from "../../src/auth/rate-limit.ts";
import { loadConfig } from "../../src/config/config.ts";
import { freeMinutesOfDay } from "../../src/db/pool/database-time.ts";
import { refreshesOfDay } from "../../src/nfts/refresh-metadata.ts";
import type { Attacker } from "./walk.ts";

/** What counts requests, so that there are no more of them. */
export type BoundName =
  | "read"
  | "upload"
  | "spend"
  | "transaction"
  | "question"
  | "open question"
  | "reading"
  | "refresh"
  | "sign-up"
  | "page"
  | "uncounted";

export const free = defaultPlans.free;
/** What an installation has that sets nothing. */
export const usual = loadConfig({ DATABASE_URL: "postgres://mintyard@127.0.0.1/mintyard" });

const none = Number.NaN;

/** What a bucket lets through in so many days, the worst first: it is full when they begin. */
function within({ burst, perSecond }: RateBudget, days: number): number {
  return Math.ceil(burst + perSecond * 86_400 * days);
}

/** How many requests are let through in a day and in thirty; of pages milliseconds. Read from what the product enforces. */
export function mostIn(bound: BoundName, days: 1 | 30): number {
  const ofDay = (budget: RateBudget) => within(budget, days);
  switch (bound) {
    // A month's may all come on one day.
    case "read":
      return Number(free.requestsPerMonth ?? none);
    case "upload":
      return ofDay(perDay(free.uploadRequestsPerDay ?? none));
    case "spend":
      return ofDay(perDay(free.deployRequestsPerDay ?? none));
    case "transaction":
      return (days === 1 ? free.transactionsPerDay : free.transactionsPerMonth) ?? none;
    case "question":
      return ofDay(questionsOfAccount);
    case "open question":
      return ofDay(questionsOfDay);
    case "reading":
      return ofDay(readingsOfDay);
    case "refresh":
      return ofDay(refreshesOfDay);
    case "uncounted":
      return ofDay(uncountedOfDay);
    case "page":
      return ofDay({ burst: workOfDay.most, perSecond: workOfDay.perSecond });
    // A block of addresses has a twentieth of all.
    case "sign-up":
      return (usual.signUpsPerDay / 20) * days;
  }
}

/** Milliseconds of new documents, and of the database for heavy reads, of one owner. */
export function documentMs(days: 1 | 30): number {
  return within({ burst: documentsOfDay.most, perSecond: documentsOfDay.perSecond }, days);
}
export function heavyMs(days: 1 | 30): number {
  return within(perDay((usual.heavyTimes.free ?? none) * freeMinutesOfDay), days);
}

/** Which bound counts an operation, and for how much of it one request counts. */
export function boundOf(operation: string, attacker: Attacker, transaction: boolean): BoundName {
  const [kind = "", name = ""] = operation.split(" ");
  if (transaction) return "transaction";
  if (/signup|signUp/.test(name)) return "sign-up";
  const question = attacker === "no key" ? "open question" : "question";
  if (/^\/auth\/(nonce|sign-in)$/.test(name)) return question;
  if (/\/(sale|balance|figures)(\/|$)/.test(name) || /^GET \/mint/.test(operation)) return "reading";
  if (/^(query (eligibility|status)|subscription collection)$/.test(operation)) return question;
  if (/^\/(graphql|auth)/.test(name)) return "uncounted";
  const isOfApi = /^\/v[01](\/|$)/.test(name) || !name.startsWith("/");
  if (!isOfApi) return "page";
  if (attacker === "no key" || operation === "GET /v0") return "uncounted";
  if (/refreshMetadata$|^GET \/v0\/nfts\/:contract_address\/:token_id$/.test(operation)) return "refresh";
  const { bucket } = name.startsWith("/")
    ? operationOfRoute(kind, name)
    : operationOfField(kind as "query" | "mutation" | "subscription", name);
  return bucket === "deploy" ? "spend" : bucket;
}
