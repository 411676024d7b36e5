import type { ReadFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "HTTP 429 without Retry-After",
  source: "MetaMask/eth-json-rpc-infura#33",
  hits: "all",
  play: says(-32_005, "project ID request rate exceeded", { status: 429 }),
  ends: { proofs: "right", logs: "right" },
};
