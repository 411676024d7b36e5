import type { ReadFault } from "../fault.ts";
import { refusesWide } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "a range too wide, with one that works",
  source: "bancorprotocol/webapp#523",
  hits: ["eth_getLogs"],
  play: refusesWide(
    10,
    -32_602,
    "Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size, or you can request any block range with a cap of 10K logs in the response.",
  ),
  ends: { logs: "right" },
};
