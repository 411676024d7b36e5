import type { ReadFault } from "../fault.ts";
import { refusesWide } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "wide ranges time out at the node, and no other endpoint",
  source: "Analog-Labs/chain-connectors#275",
  hits: ["eth_getLogs"],
  play: refusesWide(10, -32_603, "query timeout of 10 seconds exceeded"),
  alone: true,
  ends: { logs: "right" },
};
