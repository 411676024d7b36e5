import type { ReadFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: '-32000 "failed to get logs for block"',
  source: "ethereum/go-ethereum#30470",
  hits: ["eth_getLogs"],
  play: says(-32_000, "failed to get logs for block #7950923 (0xff68a7..396b6d)"),
  ends: { logs: "right" },
};
