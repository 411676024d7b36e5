import { randomBytes } from "node:crypto";

/** Names one request in its answer and in every log line about it. Prefixed: a bare UUID could be a key. */
export function newRequestId(): string {
  return `req_${randomBytes(12).toString("hex")}`;
}
