import type { Admission } from "../accounts/admit.ts";

/** The common part of both APIs' contexts. */
interface Reply {
  header(name: string, value?: string): void;
  set(name: "rateHeaders", headers: Record<string, string>): void;
}

/** The rate headers of a reply: the bucket's size, what is left, and seconds until it is full; or `unlimited`. */
export function rateHeadersOf(admission: Admission): Record<string, string> {
  if (!admission) return { "ratelimit-limit": "unlimited" };
  return {
    "ratelimit-bucket": admission.bucket,
    "ratelimit-limit": String(admission.limit),
    "ratelimit-remaining": String(admission.remaining),
    "ratelimit-reset": String(Math.ceil(admission.resetSeconds)),
  };
}

/** Sets a reply's rate headers. */
export function setRateHeaders(c: Reply, admission: Admission): void {
  const headers = rateHeadersOf(admission);
  // Also stored in the context: a response that a handler creates itself does not get the headers set before.
  c.set("rateHeaders", headers);
  for (const [name, value] of Object.entries(headers)) c.header(name, value);
}
