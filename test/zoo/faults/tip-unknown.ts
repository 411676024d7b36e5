import type { WriteFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: WriteFault = {
  kind: "write",
  name: '-32000 "Method eth_maxPriorityFeePerGas not supported.", and no other endpoint',
  source: "smartcontractkit/full-blockchain-solidity-course-py#405",
  hits: ["eth_maxPriorityFeePerGas"],
  play: says(-32_000, "Method eth_maxPriorityFeePerGas not supported."),
  alone: true,
  end: "one",
};
