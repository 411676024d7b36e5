import type { WriteFault } from "../fault.ts";
import { edits } from "../plays.ts";

export const fault: WriteFault = {
  kind: "write",
  name: "a node of another chain, and no other endpoint",
  source: "DefiLlama/chainlist#3168",
  hits: ["eth_chainId"],
  play: edits(() => "0x1"),
  alone: true,
  end: /answered for chain 1, not 31337/,
};
