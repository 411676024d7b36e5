import type { ReadFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: '-32016 "over rate limit", HTTP 429',
  source: "base/node#390",
  hits: "all",
  play: says(-32_016, "over rate limit", { status: 429 }),
  ends: { proofs: "right", logs: "right" },
};
