import type { ReadFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: '4444 "pruned history unavailable"',
  source: "paradigmxyz/reth#21304",
  hits: ["eth_getLogs", "eth_getBlockReceipts", "eth_getTransactionReceipt"],
  play: says(4444, "pruned history unavailable"),
  ends: { proofs: "right", logs: "right" },
};
