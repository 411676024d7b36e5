import type { WriteFault } from "../fault.ts";
import { edits, firstTimes } from "../plays.ts";

export const fault: WriteFault = {
  kind: "write",
  name: '"0x" for code that stands, the first three times',
  source: "hiero-ledger/hiero-json-rpc-relay#418",
  hits: ["eth_getCode"],
  play: firstTimes(
    3,
    edits(() => "0x"),
  ),
  end: "one",
};
