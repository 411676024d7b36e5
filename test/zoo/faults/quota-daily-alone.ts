import type { ReadFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "the day's requests used up, and no other endpoint",
  source: "blockscout/blockscout#7339",
  hits: "all",
  play: says(-32_005, "daily request count exceeded, request rate limited"),
  alone: true,
  ends: { proofs: /quota_ended.*its plan has no requests left/, logs: /quota_ended.*its plan has no requests left/ },
};
