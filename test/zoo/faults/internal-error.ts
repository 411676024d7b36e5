import type { ReadFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: '-32603 "Internal error", HTTP 200',
  source: "https://eips.ethereum.org/EIPS/eip-1474",
  hits: "all",
  play: says(-32_603, "Internal error"),
  ends: { proofs: "right", logs: "right" },
};
