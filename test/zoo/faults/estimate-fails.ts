import type { WriteFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: WriteFault = {
  kind: "write",
  name: '-32000 "internal error" for estimates of gas',
  source: "cosmos/ethermint#339",
  hits: ["eth_estimateGas"],
  play: says(-32_000, "internal error"),
  end: "one",
};
