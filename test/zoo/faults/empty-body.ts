import type { ReadFault } from "../fault.ts";
import { http } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "nothing with HTTP 200",
  source: "mana-ethereum/ethereumex#58",
  hits: "all",
  play: http(200, "", { "content-type": "application/json" }),
  ends: { proofs: "right", logs: "right" },
};
