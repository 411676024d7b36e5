import type { ReadFault } from "../fault.ts";
import { refusesWide } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "a range too wide, -32602, and no other endpoint",
  source: "INFURA/infura#237",
  hits: ["eth_getLogs"],
  play: refusesWide(10, -32_602, "range 1000000 exceeds limit of 10000"),
  alone: true,
  ends: { logs: "right" },
};
