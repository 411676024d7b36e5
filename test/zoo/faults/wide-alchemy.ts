import type { ReadFault } from "../fault.ts";
import { refusesWide } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: 'a result too large, "reduce query block range"',
  source: "bancorprotocol/webapp#523",
  hits: ["eth_getLogs"],
  play: refusesWide(10, -32_602, "Log response size exceeded. Please reduce query block range."),
  ends: { logs: "right" },
};
