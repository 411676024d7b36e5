/** A file as text. */
export interface JsonText {
  text: string;
  /** Whether all of its bytes are text; each that is none is U+FFFD. */
  whole: boolean;
}

/**
 * The text of a JSON file in the encodings that people save it in: UTF-8 and UTF-16, with a byte order mark or without. JSON
 * begins with a character of ASCII, so a zero beside it shows UTF-16.
 */
export function decodeJsonText(bytes: Uint8Array): JsonText {
  const [first = 1, second = 1] = bytes;
  if ((first === 0xff && second === 0xfe) || (first > 0 && second === 0)) return decode(bytes, "utf-16le");
  if ((first === 0xfe && second === 0xff) || (first === 0 && second > 0)) return decode(bytes, "utf-16be");
  return decode(bytes, "utf-8");
}

function decode(bytes: Uint8Array, encoding: string): JsonText {
  const text = new TextDecoder(encoding).decode(bytes);
  // Almost no text has the character, and those that have it are decoded twice.
  const whole = !text.includes("\ufffd") || isText(bytes, encoding);
  return { text, whole };
}

function isText(bytes: Uint8Array, encoding: string): boolean {
  try {
    new TextDecoder(encoding, { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Each costs memory of its own; a text that needs more was not written by a slip. */
const mostRepairs = 10_000;

/**
 * Makes JSON of what hand-written contracts and scripts return instead: line breaks and other
 * control characters inside strings are escaped, commas before a closing bracket are dropped. The
 * result may still be no JSON.
 */
export function repairJson(text: string): string {
  const parts: string[] = [];
  let from = 0;
  let inString = false;
  let comma = -1;
  const replace = (at: number, by: string) => {
    parts.push(text.slice(from, at), by);
    from = at + 1;
  };
  for (let at = 0; at < text.length; at += 1) {
    if (parts.length > mostRepairs * 2) return text;
    const code = text.charCodeAt(at);
    if (inString) {
      if (code === 0x5c) at += 1;
      else if (code === 0x22) inString = false;
      else if (code < 0x20) replace(at, `\\u${code.toString(16).padStart(4, "0")}`);
      continue;
    }
    if (code === 0x20 || (code >= 0x09 && code <= 0x0d)) continue;
    if ((code === 0x7d || code === 0x5d) && comma >= 0) {
      // Nothing was replaced since: only white space lies between.
      parts.push(text.slice(from, comma));
      from = comma + 1;
    }
    comma = code === 0x2c ? at : -1;
    if (code === 0x22) inString = true;
  }
  parts.push(text.slice(from));
  return parts.join("");
}
