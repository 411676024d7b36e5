import type { ReadFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: '4444 "pruned history unavailable", and no other endpoint',
  source: "ethereum/go-ethereum#31939",
  hits: ["eth_getLogs"],
  play: says(4444, "pruned history unavailable"),
  alone: true,
  ends: { logs: /pruned history unavailable/ },
};
