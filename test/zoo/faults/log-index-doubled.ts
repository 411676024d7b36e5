import type { ReadFault } from "../fault.ts";
import { edits } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "all logs of a block under one index",
  source: "shardeum/bug-reporting#10",
  hits: ["eth_getLogs"],
  play: edits((logs: object[]) => logs.map((log) => ({ ...log, logIndex: "0x1" }))),
  ends: { logs: "right" },
};
