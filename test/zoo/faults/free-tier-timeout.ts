import type { ReadFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: '30 "Request timeout on the free tier"',
  source: "enviodev/hyperindex#715",
  hits: "all",
  play: says(30, "Request timeout on the free tier, please upgrade your tier to the paid one"),
  ends: { proofs: "right", logs: "right" },
};
