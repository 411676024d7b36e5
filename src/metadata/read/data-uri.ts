import { type Fault, isFault } from "../../outbound/fault.ts";
import { parseDocument } from "./parse-document.ts";

/** As large as a document or a picture's head from a server may be. */
const maxBytes = 1_048_576;

/**
 * Decodes a `data:` URI, base64 or percent-encoded. Contracts write JSON into them by hand, so stray
 * `%` and `#` are taken literally.
 */
export function decodeDataUri(uri: string): { bytes: Uint8Array } | Fault {
  const comma = uri.indexOf(",");
  if (comma < 0) return { fault: "uri_unsupported" };
  // Nothing is written longer than three characters for a byte.
  if (uri.length - comma - 1 > 3 * maxBytes) return { fault: "too_large" };
  const decoded = percentDecode(uri.slice(comma + 1));
  const isBase64 = /;\s*base64\s*$/i.test(uri.slice(0, comma));
  const bytes = isBase64 ? Buffer.from(decoded.toString("latin1"), "base64") : decoded;
  return bytes.byteLength > maxBytes ? { fault: "too_large" } : { bytes };
}

/**
 * The document in a `data:` URI. Contracts that put one together from texts leave the escapes of a picture in it as they are,
 * and some say base64 of what is none, or do not say it: where the standard's reading is no document, the text as it is
 * written is one, or its base64.
 */
export function decodeDocumentUri(uri: string): { bytes: Uint8Array } | Fault {
  const decoded = decodeDataUri(uri);
  const body = uri.slice(uri.indexOf(",") + 1);
  if (isFault(decoded) || body.length > 2 * maxBytes) return decoded;
  // As almost all are: nothing in it can be read in two ways.
  if (decoded.bytes[0] === 0x7b && !body.includes("%")) return decoded;
  if (isDocument(decoded.bytes)) return decoded;
  const written = [Buffer.from(body), Buffer.from(body, "base64")].find(isDocument);
  return written ? { bytes: written } : decoded;
}

function isDocument(bytes: Uint8Array): boolean {
  return !isFault(parseDocument(bytes));
}

function percentDecode(text: string): Buffer {
  const bytes = Buffer.from(text);
  let length = 0;
  for (let at = 0; at < bytes.length; length += 1) {
    const value = bytes[at] === 0x25 ? hexDigit(bytes[at + 1]) * 16 + hexDigit(bytes[at + 2]) : Number.NaN;
    bytes[length] = Number.isNaN(value) ? (bytes[at] as number) : value;
    at += Number.isNaN(value) ? 1 : 3;
  }
  return bytes.subarray(0, length);
}

function hexDigit(code = 0): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = (code | 0x20) - 0x61;
  return letter >= 0 && letter < 6 ? letter + 10 : Number.NaN;
}
