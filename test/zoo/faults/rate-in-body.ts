import type { ReadFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "-32007 request limit a second, HTTP 200",
  source: "https://www.quicknode.com/docs/base/error-references",
  hits: "all",
  play: says(-32_007, "50/second request limit reached - reduce calls per second or upgrade your account"),
  ends: { proofs: "right", logs: "right" },
};
