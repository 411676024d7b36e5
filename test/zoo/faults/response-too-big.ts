import type { ReadFault } from "../fault.ts";
import { refusesLong } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: '-32008 "Response is too big", and no other endpoint',
  source: "hyperliquid-dex/node#65",
  hits: ["eth_getLogs"],
  play: refusesLong(12, -32_008, "Response is too big"),
  alone: true,
  ends: { logs: "right" },
};
