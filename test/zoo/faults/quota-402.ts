import type { ReadFault } from "../fault.ts";
import { http } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "HTTP 402 Payment Required",
  source: "enviodev/hyperindex#715",
  hits: "all",
  play: http(402, "Payment Required", { "content-type": "text/plain" }),
  ends: { proofs: "right", logs: "right" },
};
