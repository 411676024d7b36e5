import type { ReadFault } from "../fault.ts";
import { http } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "HTTP 429 with Retry-After and no JSON",
  source: "BobTheBuidler/dank_mids#78",
  hits: "all",
  play: http(429, "Too Many Requests", { "retry-after": "30", "content-type": "text/plain" }),
  ends: { proofs: "right", logs: "right" },
};
