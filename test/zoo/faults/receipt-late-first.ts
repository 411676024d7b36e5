import type { WriteFault } from "../fault.ts";
import { edits } from "../plays.ts";

export const fault: WriteFault = {
  kind: "write",
  name: "null for all receipts",
  source: "erigontech/erigon#2633",
  hits: ["eth_getTransactionReceipt"],
  play: edits(() => null),
  end: "one",
};
