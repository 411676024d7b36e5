import type { WriteFault } from "../fault.ts";

export const fault: WriteFault = {
  kind: "write",
  name: "HTTP 413 and HTML for lists of more than two calls, and no other endpoint",
  source: "blockscout/blockscout#254",
  hits: "all",
  play:
    () =>
    ({ isList, calls }) =>
      isList && calls.length > 2
        ? { status: 413, text: "<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n</html>" }
        : "honest",
  alone: true,
  end: "one",
};
