import type { ReadFault } from "../fault.ts";
import { resets } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "the connection is reset",
  source: "ethereum-optimism/optimism#2691",
  hits: "all",
  play: resets,
  ends: { proofs: "right", logs: "right" },
};
