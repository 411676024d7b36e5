import type { ReadFault } from "../fault.ts";
import { edits } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "each log twice",
  source: "darwinia-network/darwinia#1649",
  hits: ["eth_getLogs"],
  play: edits((logs: object[]) => logs.flatMap((log) => [log, log])),
  ends: { logs: "right" },
};
