import type { WriteFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: WriteFault = {
  kind: "write",
  name: '-32016 "over rate limit" for everything',
  source: "base/node#390",
  hits: "all",
  play: says(-32_016, "over rate limit", { status: 429 }),
  end: "one",
};
