import type { ReadFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "the day's requests used up, HTTP 429",
  source: "gochain/web3#180",
  hits: "all",
  play: says(-32_005, "daily request count exceeded, request rate limited", {
    status: 429,
    data: { rate: { allowed_rps: 1, backoff_seconds: 0, current_rps: 2.2 } },
  }),
  ends: { proofs: "right", logs: "right" },
};
