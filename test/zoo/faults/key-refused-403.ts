import type { ReadFault } from "../fault.ts";
import { http } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "-32052 key not allowed, a bare message with HTTP 403",
  source: "wevm/viem#3476",
  hits: "all",
  play: http(
    403,
    '{"error":"message: API key is not allowed to access blockchain, json-rpc code: -32052, rest code: 403"}',
  ),
  ends: { proofs: "right", logs: "right" },
};
