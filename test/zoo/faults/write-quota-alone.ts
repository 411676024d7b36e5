import type { WriteFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: WriteFault = {
  kind: "write",
  name: "the month's capacity used up, HTTP 403, and no other endpoint",
  source: "xmtp/xmtpd#672",
  hits: "all",
  play: says(
    -32_600,
    "Monthly capacity limit exceeded. Visit https://dashboard.alchemyapi.io/settings/billing to upgrade your scaling policy for continued service.",
    { status: 403 },
  ),
  alone: true,
  end: /quota_ended/,
};
