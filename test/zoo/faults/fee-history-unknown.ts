import type { WriteFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: WriteFault = {
  kind: "write",
  name: "-32601 for eth_feeHistory, and no other endpoint",
  source: "AcalaNetwork/bodhi.js#103",
  hits: ["eth_feeHistory"],
  play: says(-32_601, "Method not found", { data: "The method eth_feeHistory does not exist / is not available." }),
  alone: true,
  end: "one",
};
