import type { ReadFault } from "../fault.ts";
import { edits } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "the newest log first",
  source: "hiero-ledger/hiero-json-rpc-relay#699",
  hits: ["eth_getLogs"],
  play: edits((logs: object[]) => logs.toReversed()),
  ends: { logs: "right" },
};
