import type { ReadFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: '-39001 "Unknown block"',
  source: "ethereum/execution-apis#879",
  hits: ["eth_getLogs"],
  play: says(-39_001, "Unknown block"),
  ends: { logs: "right" },
};
