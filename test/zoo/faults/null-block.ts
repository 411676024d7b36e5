import type { ReadFault } from "../fault.ts";
import { edits } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "block",
  name: "null for a block that exists",
  source: "openethereum/parity-ethereum#6410",
  hits: ["eth_getBlockByNumber"],
  play: edits(() => null),
  ends: { proofs: "right", logs: "right" },
};
