import type { WriteFault } from "../fault.ts";
import { loses } from "../plays.ts";

export const fault: WriteFault = {
  kind: "write",
  name: "the transaction is taken, and HTTP 504 is answered",
  source: "hiero-ledger/hiero-json-rpc-relay#4634",
  hits: ["eth_sendRawTransaction"],
  play: loses({ status: 504, text: "<html><head><title>504 Gateway Time-out</title></head></html>" }),
  alone: true,
  end: "one",
};
