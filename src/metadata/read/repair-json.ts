/**
 * The text of a JSON file in the encodings that people save it in: UTF-8, with or without a byte order
 * mark, and UTF-16 with one. Bytes that are no text become U+FFFD.
 */
export function decodeJsonText(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (first === 0xfe && second === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  return new TextDecoder().decode(bytes);
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
