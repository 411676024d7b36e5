import { randomBytes } from "node:crypto";

const digits = 24;
/** Random digits in reserve: requesting them from the system costs more than using them. */
let store = "";
let used = 0;

/** A new id for one request, for its answer and its log lines. Prefixed, because a bare UUID could be a key. */
export function newRequestId(): string {
  if (used >= store.length) {
    store = randomBytes(128 * digits).toString("hex");
    used = 0;
  }
  used += digits;
  return `req_${store.slice(used - digits, used)}`;
}
