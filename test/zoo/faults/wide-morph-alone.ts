import type { ReadFault } from "../fault.ts";
import { refusesWide } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "a range too wide, in words of Morph, and no other endpoint",
  source: "enviodev/hyperindex#605",
  hits: ["eth_getLogs"],
  play: refusesWide(
    10,
    -32_000,
    "block range is larger than max block range, block range = 5120, max block range = 5000",
  ),
  alone: true,
  ends: { logs: "right" },
};
