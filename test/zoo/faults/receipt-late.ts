import type { WriteFault } from "../fault.ts";
import { edits, firstTimes } from "../plays.ts";

export const fault: WriteFault = {
  kind: "write",
  name: "null for receipts for a while after mining, and no other endpoint",
  source: "ethereum/go-ethereum#18447",
  hits: ["eth_getTransactionReceipt"],
  play: firstTimes(
    6,
    edits(() => null),
  ),
  alone: true,
  end: "one",
};
