import type { ReadFault } from "../fault.ts";
import { edits } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "0x0 for its chain's id",
  source: "MetaMask/metamask-extension#9952",
  hits: ["eth_chainId"],
  play: edits(() => "0x0"),
  ends: { proofs: /serves chain id 0/, logs: /serves chain id 0/ },
};
