import type { WriteFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: WriteFault = {
  kind: "write",
  name: '"txpool is full"',
  source: "scroll-tech/rollup-node#112",
  hits: ["eth_sendRawTransaction"],
  play: says(-32_003, "Could not send transaction txpool is full"),
  end: "one",
};
