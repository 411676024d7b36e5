import type { ReadFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "a rate of the node behind, quoted in -32000, HTTP 200",
  source: "base/node#368",
  hits: "all",
  play: says(
    -32_000,
    '429 Too Many Requests: {"jsonrpc":"2.0","error":{"code":-32016,"message":"over rate limit"},"id":2239375}',
  ),
  ends: { proofs: "right", logs: "right" },
};
