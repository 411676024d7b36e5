import type { ReadFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: '-32000 "header not found"',
  source: "bnb-chain/bsc#1054",
  hits: ["eth_getBlockByNumber", "eth_getBlockByHash"],
  play: says(-32_000, "header not found"),
  ends: { proofs: "right", logs: "right" },
};
