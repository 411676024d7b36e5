import type { ReadFault } from "../fault.ts";
import { edits } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "all logs under hashes that no block has",
  source: "NethermindEth/nethermind#4384",
  hits: ["eth_getLogs"],
  play: edits((logs: { blockHash: string }[]) =>
    logs.map((log) => ({ ...log, blockHash: `0xe91b${log.blockHash.slice(6)}` })),
  ),
  ends: { logs: "right" },
};
