import type { ReadFault } from "../fault.ts";
import { http } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "HTTP 408",
  source: "BobTheBuidler/dank_mids#1036",
  hits: "all",
  play: http(408, "Request Timeout", { "content-type": "text/plain" }),
  ends: { proofs: "right", logs: "right" },
};
