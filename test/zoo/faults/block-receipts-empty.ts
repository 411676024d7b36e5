import type { ReadFault } from "../fault.ts";
import { edits } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "receipts",
  name: "an empty list of receipts for a full block",
  source: "paradigmxyz/reth#23394",
  hits: ["eth_getBlockReceipts"],
  play: edits(() => []),
  ends: { proofs: "right" },
};
