import type { ReadFault } from "../fault.ts";
import { http } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "HTTP 524",
  source:
    "https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-5xx-errors/error-524/",
  hits: "all",
  play: http(524, "error code: 524", { "content-type": "text/plain" }),
  ends: { proofs: "right", logs: "right" },
};
