import type { ReadFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "-32603 strange internal error, HTTP 200",
  source: "iotexproject/iotex-core#4942",
  hits: "all",
  play: says(-32_603, 'strconv.ParseUint: parsing "latest": invalid syntax'),
  ends: { proofs: "right", logs: "right" },
};
