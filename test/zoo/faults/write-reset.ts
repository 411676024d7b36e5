import type { WriteFault } from "../fault.ts";
import { resets } from "../plays.ts";

export const fault: WriteFault = {
  kind: "write",
  name: "the connection is reset",
  source: "web3/web3.js#390",
  hits: "all",
  play: resets,
  end: "one",
};
