import type { ReadFault } from "../fault.ts";
import { edits } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: 'a block has "0x" for its bloom filter',
  source: "filecoin-project/lotus#10196",
  hits: ["eth_getBlockByNumber", "eth_getBlockByHash"],
  play: edits((block: object) => ({ ...block, logsBloom: "0x" })),
  ends: { proofs: "right", logs: "right" },
};
