import type { Context } from "hono";
import type { Admission } from "../accounts/admit.ts";

/** Shows a reply's bucket: its size, what is left, and seconds until it is full. A plan without a limit says so. */
export function setRateHeaders(c: Context, admission: Admission): void {
  if (!admission) {
    c.header("RateLimit-Limit", "unlimited");
    return;
  }
  c.header("RateLimit-Limit", String(admission.limit));
  c.header("RateLimit-Remaining", String(admission.remaining));
  c.header("RateLimit-Reset", String(Math.ceil(admission.resetSeconds)));
  c.header("RateLimit-Bucket", admission.bucket);
}
