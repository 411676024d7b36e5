import type { WriteFault } from "../fault.ts";
import { loses } from "../plays.ts";

export const fault: WriteFault = {
  kind: "write",
  name: "the transaction is taken, and the connection reset before the answer",
  source: "llamanodes/web3-proxy#128",
  hits: ["eth_sendRawTransaction"],
  play: loses(),
  end: "one",
};
