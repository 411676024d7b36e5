import type { ReadFault } from "../fault.ts";
import { refusesWide } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "a range too wide, in words of Avalanche",
  source: "ponder-sh/ponder#1783",
  hits: ["eth_getLogs"],
  play: refusesWide(10, -32_000, "requested too many blocks from 1 to 5000, maximum is set to 2048"),
  ends: { logs: "right" },
};
