import type { WriteFault } from "../fault.ts";
import { loses } from "../plays.ts";

export const fault: WriteFault = {
  kind: "write",
  name: "the transaction is taken, and the connection reset before the answer; no other endpoint",
  source: "LFDT-web3j/web3j#649",
  hits: ["eth_sendRawTransaction"],
  play: loses(),
  alone: true,
  end: "one",
};
