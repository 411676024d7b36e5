import type { ReadFault } from "../fault.ts";
import { edits } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "some logs are missing",
  source: "0xPolygon/bor#519",
  hits: ["eth_getLogs"],
  play: edits((logs: object[]) => logs.filter((_, index) => index % 7 !== 3)),
  ends: { proofs: "not asked", logs: "sampled" },
};
