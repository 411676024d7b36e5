import type { ReadFault } from "../fault.ts";
import { refusesWide } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "a range too wide, -32614 with HTTP 413",
  source: "palomachain/paloma#1165",
  hits: ["eth_getLogs"],
  play: refusesWide(10, -32_614, "eth_getLogs is limited to a 10,000 range", { status: 413 }),
  ends: { logs: "right" },
};
