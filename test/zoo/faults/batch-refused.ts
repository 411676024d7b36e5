import type { WriteFault } from "../fault.ts";

export const fault: WriteFault = {
  kind: "write",
  name: 'one error in place of a list: "batch limit exceeded", and no other endpoint',
  source: "erigontech/erigon#7072",
  hits: "all",
  play:
    () =>
    ({ isList, calls }) =>
      isList && calls.length > 3
        ? {
            json: {
              jsonrpc: "2.0",
              id: null,
              error: { code: -32_000, message: `batch limit 3 exceeded: ${calls.length} requests given` },
            },
          }
        : "honest",
  alone: true,
  end: "one",
};
