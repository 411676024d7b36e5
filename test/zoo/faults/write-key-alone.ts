import type { WriteFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: WriteFault = {
  kind: "write",
  name: '"You must authenticate your request", and no other endpoint',
  source: "lontivero/Explora#2",
  hits: "all",
  play: says(
    -32_000,
    "Unauthorized: You must authenticate your request with an API key. Create an account on https://www.ankr.com/rpc/ and generate your personal API key for free.",
  ),
  alone: true,
  end: /key_refused/,
};
