import type { ReadFault } from "../fault.ts";
import { refusesWide } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "a range too wide, -32603",
  source: "moonbeam-foundation/moonbeam#3250",
  hits: ["eth_getLogs"],
  play: refusesWide(10, -32_603, "block range is too wide (maximum 1024)"),
  ends: { logs: "right" },
};
