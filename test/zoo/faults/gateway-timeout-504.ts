import type { ReadFault } from "../fault.ts";
import { http } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "HTTP 504 for logs",
  source: "hoprnet/hoprnet#6136",
  hits: ["eth_getLogs"],
  play: http(504, "<html><head><title>504 Gateway Time-out</title></head></html>"),
  ends: { logs: "right" },
};
