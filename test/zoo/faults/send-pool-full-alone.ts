import type { WriteFault } from "../fault.ts";
import { firstTimes, says } from "../plays.ts";

export const fault: WriteFault = {
  kind: "write",
  name: '"txpool is full" three times, and no other endpoint',
  source: "0xPolygon/polygon-edge#722",
  hits: ["eth_sendRawTransaction"],
  play: firstTimes(3, says(-32_000, "txpool is full")),
  alone: true,
  end: "one",
};
