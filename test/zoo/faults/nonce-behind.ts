import type { WriteFault } from "../fault.ts";
import { edits, firstTimes } from "../plays.ts";

export const fault: WriteFault = {
  kind: "write",
  name: "the count of transactions of an old block, and no other endpoint",
  source: "gnosis/gp-v2-services#896",
  hits: ["eth_getTransactionCount"],
  play: firstTimes(
    4,
    edits((count: string) => `0x${Math.max(0, Number(count) - 1).toString(16)}`),
  ),
  alone: true,
  end: "one",
};
