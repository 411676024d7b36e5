import type { ReadFault } from "../fault.ts";
import { http } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "HTML with HTTP 200",
  source: "web3/web3.js#1448",
  hits: "all",
  play: http(200, "<!DOCTYPE HTML><HTML><HEAD><TITLE>ERROR: The request could not be satisfied</TITLE></HEAD></HTML>"),
  ends: { proofs: "right", logs: "right" },
};
