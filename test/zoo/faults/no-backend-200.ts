import type { ReadFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "-32011 no healthy backend, HTTP 200",
  source: "hemilabs/heminetwork#491",
  hits: "all",
  play: says(-32_011, "no backend is currently healthy to serve traffic"),
  ends: { proofs: "right", logs: "right" },
};
