import type { ReadFault } from "../fault.ts";
import { refusesWide } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "a range too wide, in words of Reth",
  source: "paradigmxyz/reth#8558",
  hits: ["eth_getLogs"],
  play: refusesWide(10, -32_602, "query exceeds max block range 100000"),
  ends: { logs: "right" },
};
