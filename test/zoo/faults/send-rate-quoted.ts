import type { WriteFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: WriteFault = {
  kind: "write",
  name: "a rate of the sequencer, quoted in -32000",
  source: "base/node#368",
  hits: ["eth_sendRawTransaction"],
  play: says(
    -32_000,
    '429 Too Many Requests: {"jsonrpc":"2.0","error":{"code":-32016,"message":"over rate limit"},"id":2239375}',
  ),
  end: "one",
};
