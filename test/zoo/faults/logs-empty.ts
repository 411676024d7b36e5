import type { ReadFault } from "../fault.ts";
import { edits } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "[] where there are logs",
  source: "NethermindEth/nethermind#12475",
  hits: ["eth_getLogs"],
  play: edits(() => []),
  ends: { proofs: "not asked", logs: "right" },
};
