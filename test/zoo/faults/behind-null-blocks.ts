import type { ReadFault } from "../fault.ts";
import { edits } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "behind: null for the newest blocks",
  source: "INFURA/infura#43",
  hits: ["eth_getBlockByNumber", "eth_getBlockByHash"],
  play: edits((block: { number: string }, _call, before) => (before % 3 === 0 ? null : block)),
  ends: { proofs: "right", logs: "right" },
};
