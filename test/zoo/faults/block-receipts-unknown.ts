import type { ReadFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "receipts",
  name: "-32601 for eth_getBlockReceipts, and no other endpoint",
  source: "base/node#153",
  hits: ["eth_getBlockReceipts"],
  play: says(-32_601, "the method eth_getBlockReceipts does not exist/is not available"),
  alone: true,
  ends: { proofs: "right" },
};
