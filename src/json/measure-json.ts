/**
 * Measures the nesting and members of JSON text before anything recurses over it: deep nesting would overflow the stack
 * of every later walk, the parser's included. The content of strings is skipped.
 *
 * @returns the deepest level of brackets, and the number of `name: value` pairs.
 */
export function measureJson(text: string): { depth: number; members: number } {
  let level = 0;
  let depth = 0;
  let members = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (inString) {
      if (code === 0x5c) at += 1;
      else if (code === 0x22) inString = false;
    } else if (code === 0x22) inString = true;
    else if (code === 0x7b || code === 0x5b) depth = Math.max(depth, ++level);
    else if (code === 0x7d || code === 0x5d) level -= 1;
    else if (code === 0x3a) members += 1;
  }
  return { depth, members };
}
