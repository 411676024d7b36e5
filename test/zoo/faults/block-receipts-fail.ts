import type { ReadFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "receipts",
  name: "-32000 for eth_getBlockReceipts of some blocks, and no other endpoint",
  source: "sei-protocol/sei-chain#1815",
  hits: ["eth_getBlockReceipts"],
  play: says(-32_000, "failed to find transaction in block"),
  alone: true,
  ends: { proofs: "right" },
};
