import type { ReadFault } from "../fault.ts";
import { http } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "JSON that ends within a log, HTTP 200",
  source: "ChainSafe/lodestar#1599",
  hits: ["eth_getLogs"],
  play: http(
    200,
    '{"jsonrpc":"2.0","id":1,"result":[{"address":"0x48b597f4b53c21b48ad95c7256b49d1779bd5890","topics":["0x649bbc',
    { "content-type": "application/json" },
  ),
  ends: { logs: "right" },
};
