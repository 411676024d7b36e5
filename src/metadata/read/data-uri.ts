import type { Fault } from "../../outbound/fault.ts";

const maxLength = 262_144;

/**
 * Decodes a `data:` URI, base64 or percent-encoded. Contracts write JSON into them by hand, so stray
 * `%` and `#` are taken literally.
 */
export function decodeDataUri(uri: string): { bytes: Uint8Array } | Fault {
  if (uri.length > maxLength) return { fault: "too_large" };
  const comma = uri.indexOf(",");
  if (comma < 0) return { fault: "uri_unsupported" };
  const body = uri.slice(comma + 1);
  const isBase64 = /;\s*base64\s*$/i.test(uri.slice(0, comma));
  return { bytes: isBase64 ? Buffer.from(percentDecode(body).toString("latin1"), "base64") : percentDecode(body) };
}

function percentDecode(text: string): Buffer {
  const parts = text.split(/((?:%[0-9a-fA-F]{2})+)/);
  return Buffer.concat(
    parts.map((part, index) => (index % 2 === 1 ? Buffer.from(part.replaceAll("%", ""), "hex") : Buffer.from(part))),
  );
}
