import type { ReadFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "-32001 \"Receipt not available for 'From' block\"",
  source: "NethermindEth/nethermind#5230",
  hits: ["eth_getLogs"],
  play: says(-32_001, "Receipt not available for 'From' block '11052984'."),
  ends: { logs: "right" },
};
