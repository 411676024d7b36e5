import type { Plan } from "./plan.ts";
import { perDay, type RateBudget } from "./rate-limit.ts";

/** Which of an account's buckets a request takes from. */
export type Bucket = "read" | "upload" | "deploy";

/** What a plan includes of a bucket; null: no limit. */
export function rateOf(plan: Plan, bucket: Bucket): RateBudget | null {
  const perMinute = bucket === "upload" ? plan.uploadsPerMinute : plan.deploysPerMinute;
  const [amount, seconds] = bucket === "read" ? [plan.readsPerSecond, 1] : [perMinute, 60];
  if (amount === null) return null;
  // Two seconds' worth of reads at once: a page that asks for its parts together is no flood.
  return { perSecond: amount / seconds, burst: bucket === "read" ? amount * 2 : amount };
}

/** What it includes in a day; reads are counted by the month. */
export function dayOf(plan: Plan, bucket: Bucket): RateBudget | null {
  const most = { read: null, upload: plan.uploadRequestsPerDay, deploy: plan.deployRequestsPerDay }[bucket];
  return most === null ? null : perDay(most);
}
