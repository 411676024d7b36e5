import type { ReadFault } from "../fault.ts";
import { edits } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "a block with logs has an empty bloom filter",
  source: "aurora-is-near/aurora-relayer#271",
  hits: ["eth_getBlockByNumber", "eth_getBlockByHash"],
  play: edits((block: object) => ({ ...block, logsBloom: `0x${"0".repeat(512)}` })),
  ends: { proofs: "right", logs: "right" },
};
