import type { ReadFault } from "../fault.ts";
import { http } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "HTTP 401, and no other endpoint",
  source: "blockscout/blockscout#3501",
  hits: "all",
  play: http(401, "Unauthorized", { "content-type": "text/plain" }),
  alone: true,
  ends: { proofs: /key_refused.*refuses the key/, logs: /key_refused.*refuses the key/ },
};
