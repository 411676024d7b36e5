import type { ReadFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: '429 in the body, "compute units per second", HTTP 200',
  source: "gitcoinco/grants-stack-indexer#156",
  hits: "all",
  play: says(
    429,
    "Your app has exceeded its compute units per second capacity. If you have retries enabled, you can safely ignore this message.",
  ),
  ends: { proofs: "right", logs: "right" },
};
