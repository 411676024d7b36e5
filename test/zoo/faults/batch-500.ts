import type { WriteFault } from "../fault.ts";

export const fault: WriteFault = {
  kind: "write",
  name: "HTTP 500 for lists of more than three calls, and no other endpoint",
  source: "hemilabs/ui-monorepo#887",
  hits: "all",
  play:
    () =>
    ({ isList, calls }) =>
      isList && calls.length > 3 ? { status: 500, text: "Internal Server Error" } : "honest",
  alone: true,
  end: "one",
};
