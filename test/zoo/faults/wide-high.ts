import type { ReadFault } from "../fault.ts";
import { refusesWide } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: 'a range too wide, "too high"',
  source: "AlphaWallet/alpha-wallet-ios#5277",
  hits: ["eth_getLogs"],
  play: refusesWide(10, -32_600, "block range too high"),
  ends: { logs: "right" },
};
