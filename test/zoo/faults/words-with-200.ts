import type { ReadFault } from "../fault.ts";
import { http } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "bare words with HTTP 200 and a JSON content type",
  source: "INFURA/infura#82",
  hits: "all",
  play: http(200, "invalid host specified\n", { "content-type": "application/json" }),
  ends: { proofs: "right", logs: "right" },
};
