import type { Forwarded } from "./forwarder.ts";

interface Body {
  type: string;
  timestamp: string;
  data: Record<string, string | number | null | undefined>;
}

/** An event in one line for a person who watches: time, type, subject and id. */
export function describeEvent(text: string): string {
  const { type, timestamp, data } = JSON.parse(text) as Body;
  const words = [timestamp, type, data["kind"], data["chain"], ...placeOf(type, data), data["state"]];
  if (data["retracts"] != null) words.push(`takes back ${data["retracts"]}`);
  words.push(data["id"]);
  // Text from the stream must not move the cursor or colour the screen.
  return words
    .filter((word) => word != null)
    .join("  ")
    .replace(/\p{Cc}/gu, "");
}

function placeOf(type: string, data: Body["data"]): string[] {
  if (type === "chain.finalized") return [`blocks ${data["from"]} to ${data["to"]}`];
  const subject = data["contract"] ?? data["wallet"] ?? data["object"];
  if (subject == null) return [];
  const token = data["tokenId"] == null ? "" : `/${data["tokenId"]}`;
  const amount = data["amount"] == null || data["amount"] === "1" ? [] : [`×${data["amount"]}`];
  return [`${subject}${token}`, ...amount, ...(data["to"] == null ? [] : [`to ${data["to"]}`])];
}

export function describeForwarded(forwarded: Forwarded): string {
  if ("fault" in forwarded) return `--> ${forwarded.fault}`;
  return `--> ${forwarded.status} in ${forwarded.milliseconds} ms`;
}

/** Whether a webhook with this answer counts as delivered. */
export function isDelivered(forwarded: Forwarded): boolean {
  return "status" in forwarded && forwarded.status >= 200 && forwarded.status < 300;
}
