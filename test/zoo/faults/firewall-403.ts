import type { ReadFault } from "../fault.ts";
import { http } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "HTTP 403 and the page of a firewall",
  source: "Widiskel/plume-testnet-bot#4",
  hits: "all",
  play: http(
    403,
    "<!DOCTYPE html><html><head><title>Attention Required! | Cloudflare</title></head><body></body></html>",
  ),
  ends: { proofs: "right", logs: "right" },
};
