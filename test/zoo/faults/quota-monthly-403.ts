import type { ReadFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "the month's capacity used up, -32600 with HTTP 403",
  source: "xmtp/xmtpd#672",
  hits: "all",
  play: says(
    -32_600,
    "Monthly capacity limit exceeded. Visit https://dashboard.alchemyapi.io/settings/billing to upgrade your scaling policy for continued service.",
    { status: 403 },
  ),
  ends: { proofs: "right", logs: "right" },
};
