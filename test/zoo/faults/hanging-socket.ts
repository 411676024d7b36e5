import type { ReadFault } from "../fault.ts";
import { hangs } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "the connection stays open and says nothing",
  source: "snapshot-labs/checkpoint#391",
  hits: "all",
  play: hangs,
  ends: { proofs: "right", logs: "right" },
};
