import type { ReadFault } from "../fault.ts";
import { edits } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "receipts",
  name: "null for the receipts of a full block",
  source: "paradigmxyz/reth#25410",
  hits: ["eth_getBlockReceipts"],
  play: edits(() => null),
  ends: { proofs: "right" },
};
