import type { ReadFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "HTTP 500 with an error of JSON-RPC",
  source: "hiero-ledger/hiero-json-rpc-relay#377",
  hits: "all",
  play: says(-32_603, "Error invoking RPC: timeout of 10000ms exceeded", { status: 500 }),
  ends: { proofs: "right", logs: "right" },
};
