import type { ReadFault } from "../fault.ts";
import { edits } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "receipts",
  name: "the receipts of another block",
  source: "paradigmxyz/reth#27336",
  hits: ["eth_getBlockReceipts"],
  play: edits((receipts: object[]) => receipts.slice(1)),
  ends: { proofs: "right" },
};
