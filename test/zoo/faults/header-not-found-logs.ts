import type { ReadFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: '-32000 "header not found" for logs',
  source: "MetaMask/metamask-extension#7234",
  hits: ["eth_getLogs"],
  play: says(-32_000, "header not found"),
  ends: { logs: "right" },
};
