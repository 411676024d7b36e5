import type { WriteFault } from "../fault.ts";
import { edits } from "../plays.ts";

export const fault: WriteFault = {
  kind: "write",
  name: "receipts without effectiveGasPrice, and no other endpoint",
  source: "0xPolygon/zkevm-node#2222",
  hits: ["eth_getTransactionReceipt"],
  play: edits((receipt: object) => ({ ...receipt, effectiveGasPrice: undefined })),
  alone: true,
  end: "one",
};
