import type { ReadFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: '-32005 "limit exceeded" for logs that are switched off',
  source: "bnb-chain/bsc#1215",
  hits: ["eth_getLogs"],
  play: says(-32_005, "limit exceeded"),
  ends: { logs: "right" },
};
