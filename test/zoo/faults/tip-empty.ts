import type { WriteFault } from "../fault.ts";
import { edits } from "../plays.ts";

export const fault: WriteFault = {
  kind: "write",
  name: '"0x" for a tip, and no other endpoint',
  source: "hiero-ledger/hiero-json-rpc-relay#3487",
  hits: ["eth_maxPriorityFeePerGas"],
  play: edits(() => "0x"),
  alone: true,
  end: "one",
};
