import type { WriteFault } from "../fault.ts";

export const fault: WriteFault = {
  kind: "write",
  name: "the connection is dropped for lists of more than two calls",
  source: "erigontech/erigon#18074",
  hits: "all",
  play:
    () =>
    ({ isList, calls }) =>
      isList && calls.length > 2 ? "reset" : "honest",
  end: "one",
};
