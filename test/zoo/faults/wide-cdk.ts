import type { ReadFault } from "../fault.ts";
import { refusesWide } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "a range too wide, -32005",
  source: "0xPolygon/cdk-erigon#1706",
  hits: ["eth_getLogs"],
  play: refusesWide(10, -32_005, "block range too large, max range: 1024"),
  ends: { logs: "right" },
};
