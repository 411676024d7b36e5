import type { Admission } from "../accounts/admit.ts";

/** The contexts of both doors, as far as they are alike. */
interface Reply {
  header(name: string, value?: string): void;
  set(name: "rateHeaders", headers: Record<string, string>): void;
}

/** Shows a reply's bucket: its size, what is left, and seconds until it is full. A plan without a limit says so. */
export function setRateHeaders(c: Reply, admission: Admission): void {
  const headers: Record<string, string> = admission
    ? {
        "RateLimit-Limit": String(admission.limit),
        "RateLimit-Remaining": String(admission.remaining),
        "RateLimit-Reset": String(Math.ceil(admission.resetSeconds)),
        "RateLimit-Bucket": admission.bucket,
      }
    : { "RateLimit-Limit": "unlimited" };
  // Kept as well: a response that a handler makes by itself does not get what was prepared.
  c.set("rateHeaders", headers);
  for (const [name, value] of Object.entries(headers)) c.header(name, value);
}
