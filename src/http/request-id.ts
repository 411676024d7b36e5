import { randomBytes } from "node:crypto";

const digits = 24;
/** Random digits in store: asking the system for them costs more than using them. */
let store = "";
let used = 0;

/** Names one request in its answer and in every log line about it. Prefixed: a bare UUID could be a key. */
export function newRequestId(): string {
  if (used >= store.length) {
    store = randomBytes(128 * digits).toString("hex");
    used = 0;
  }
  used += digits;
  return `req_${store.slice(used - digits, used)}`;
}
