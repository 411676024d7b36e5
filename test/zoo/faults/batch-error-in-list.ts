import type { WriteFault } from "../fault.ts";

export const fault: WriteFault = {
  kind: "write",
  name: 'a whole list answered by one "Internal Error"',
  source: "steemit/jussi#191",
  hits: "all",
  play:
    () =>
    ({ isList }) =>
      isList ? { json: { jsonrpc: "2.0", error: { code: -32_603, message: "Internal Error" } } } : "honest",
  end: "one",
};
