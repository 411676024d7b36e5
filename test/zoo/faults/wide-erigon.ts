import type { ReadFault } from "../fault.ts";
import { refusesWide } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "a range too wide, in words of Erigon",
  source: "erigontech/erigon#20784",
  hits: ["eth_getLogs"],
  play: refusesWide(10, -32_000, "query block range exceeds server limit, narrow your filter: 1000"),
  ends: { logs: "right" },
};
