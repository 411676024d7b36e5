import type { ReadFault } from "../fault.ts";
import { edits } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "logs under the hash of another block",
  source: "XinFinOrg/XDPoSChain#650",
  hits: ["eth_getLogs"],
  play: edits((logs: object[]) =>
    logs.map((log, index) => (index % 2 ? { ...log, blockHash: `0x${"c7".repeat(32)}` } : log)),
  ),
  ends: { logs: "right" },
};
