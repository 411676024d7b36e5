import type { Admission } from "../accounts/admit.ts";

/** The contexts of both APIs, as far as they are alike. */
interface Reply {
  header(name: string, value?: string): void;
  set(name: "rateHeaders", headers: Record<string, string>): void;
}

/** A reply's bucket: its size, what is left, and seconds until it is full. A plan without a limit says so. */
export function rateHeadersOf(admission: Admission): Record<string, string> {
  if (!admission) return { "ratelimit-limit": "unlimited" };
  return {
    "ratelimit-bucket": admission.bucket,
    "ratelimit-limit": String(admission.limit),
    "ratelimit-remaining": String(admission.remaining),
    "ratelimit-reset": String(Math.ceil(admission.resetSeconds)),
  };
}

/** Shows a reply's bucket. */
export function setRateHeaders(c: Reply, admission: Admission): void {
  const headers = rateHeadersOf(admission);
  // Kept as well: a response that a handler makes by itself does not get what was prepared.
  c.set("rateHeaders", headers);
  for (const [name, value] of Object.entries(headers)) c.header(name, value);
}
