import { LRUCache } from "lru-cache";

const texts = new LRUCache<string, string>({ max: 2_000 });
const numbers = new WeakMap<object, number>();
let numbered = 0;

/**
 * A statement's text, composed once: composing a long text costs more than running some of these statements.
 *
 * @param variant and `parts` (objects that are the same ones in each call): all that the text depends on.
 */
export function cachedStatement(variant: string, parts: readonly (object | undefined)[], write: () => string): string {
  let key = variant;
  for (const part of parts) key += `|${part === undefined ? "" : numberOf(part)}`;
  const known = texts.get(key);
  if (known !== undefined) return known;
  const text = write();
  texts.set(key, text);
  return text;
}

function numberOf(part: object): number {
  const known = numbers.get(part);
  if (known !== undefined) return known;
  numbered += 1;
  numbers.set(part, numbered);
  return numbered;
}
