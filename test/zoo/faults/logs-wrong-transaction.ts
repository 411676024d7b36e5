import type { ReadFault } from "../fault.ts";
import { edits } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "logs under the transaction of another",
  source: "paradigmxyz/reth#11427",
  hits: ["eth_getLogs"],
  play: edits((logs: { transactionHash: string }[]) =>
    logs.map((log, index) => ({ ...log, transactionHash: (logs[index + 1] ?? logs[0])?.transactionHash })),
  ),
  ends: { logs: "right" },
};
