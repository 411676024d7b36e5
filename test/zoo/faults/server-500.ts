import type { ReadFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "HTTP 500 with an error of JSON-RPC",
  source: "hiero-ledger/hiero-json-rpc-relay#5088",
  hits: "all",
  play: says(-32_020, "Mirror node upstream failure: statusCode=504, message=timeout of 30000ms exceeded", {
    status: 500,
  }),
  ends: { proofs: "right", logs: "right" },
};
