import type { ReadFault } from "../fault.ts";
import { edits } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "a list that ends after so many, without a word",
  source: "ethers-io/ethers.js#1389",
  hits: ["eth_getLogs"],
  play: edits((logs: object[]) => logs.slice(0, 10)),
  ends: { proofs: "not asked", logs: "sampled" },
};
