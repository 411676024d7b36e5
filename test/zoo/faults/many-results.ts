import type { ReadFault } from "../fault.ts";
import { refusesLong } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "more results than it gives, and no other endpoint",
  source: "OffchainLabs/prysm#7827",
  hits: ["eth_getLogs"],
  play: refusesLong(12, -32_005, "query returned more than 10000 results"),
  alone: true,
  ends: { logs: "right" },
};
