import type { WriteFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: WriteFault = {
  kind: "write",
  name: '"pool not started yet"',
  source: "erigontech/erigon#3326",
  hits: ["eth_sendRawTransaction"],
  play: says(-32_000, "rpc error: code = Unknown desc = pool not started yet"),
  end: "one",
};
