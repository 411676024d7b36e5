import type { ReadFault } from "../fault.ts";
import { http } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "HTML with HTTP 200",
  source: "MetaMask/metamask-extension#1424",
  hits: "all",
  play: http(200, "<!DOCTYPE html><html><body>Service is under maintenance</body></html>"),
  ends: { proofs: "right", logs: "right" },
};
