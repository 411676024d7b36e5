import type { WriteFault } from "../fault.ts";
import { firstTimes, says } from "../plays.ts";

export const fault: WriteFault = {
  kind: "write",
  name: '"nonce too low" from a node that is wrong about it, twice',
  source: "tradingstrategy-ai/web3-ethereum-defi#153",
  hits: ["eth_sendRawTransaction"],
  play: firstTimes(2, says(-32_000, "nonce too low")),
  end: "one",
};
