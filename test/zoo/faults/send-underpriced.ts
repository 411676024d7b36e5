import type { WriteFault } from "../fault.ts";
import { firstTimes, says } from "../plays.ts";

export const fault: WriteFault = {
  kind: "write",
  name: '"gas tip cap \u2026, minimum needed \u2026" once',
  source: "WayfinderFoundation/wayfinder-paths-sdk#379",
  hits: ["eth_sendRawTransaction"],
  play: firstTimes(1, says(-32_000, "transaction gas price below minimum: gas tip cap 1, minimum needed 25000000000")),
  end: "one",
};
