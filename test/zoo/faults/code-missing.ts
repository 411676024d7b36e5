import type { WriteFault } from "../fault.ts";
import { edits } from "../plays.ts";

export const fault: WriteFault = {
  kind: "write",
  name: '"0x" for code that stands',
  source: "openethereum/parity-ethereum#5325",
  hits: ["eth_getCode"],
  play: edits(() => "0x"),
  end: "one",
};
