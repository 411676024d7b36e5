import type { ReadFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: '-32000 "You must authenticate your request", HTTP 200',
  source: "BitteProtocol/near-ca#173",
  hits: "all",
  play: says(
    -32_000,
    "Unauthorized: You must authenticate your request with an API key. Create an account on https://www.ankr.com/rpc/ and generate your personal API key for free.",
  ),
  ends: { proofs: "right", logs: "right" },
};
