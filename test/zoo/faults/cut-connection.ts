import type { ReadFault } from "../fault.ts";
import { cuts } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "the connection ends within the body",
  source: "ethereum/go-ethereum#17016",
  hits: "all",
  play: cuts,
  ends: { proofs: "right", logs: "right" },
};
