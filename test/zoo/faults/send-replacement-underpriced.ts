import type { WriteFault } from "../fault.ts";
import { firstTimes, says } from "../plays.ts";

export const fault: WriteFault = {
  kind: "write",
  name: '"replacement transaction underpriced", twice',
  source: "thirdweb-dev/typescript-sdk#46",
  hits: ["eth_sendRawTransaction"],
  play: firstTimes(2, says(-32_000, "replacement transaction underpriced")),
  end: "one",
};
