import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { ServiceError } from "../errors/errors.ts";
import { measureJson } from "../json/measure-json.ts";
import { LongWork } from "../long-work.ts";
import { readAtMost } from "../read-at-most.ts";

const jsonFix =
  "Send one JSON object, and look at the place that the message names: names and texts stand in double quotes, and no comma stands before a closing bracket.";
/** Up to this many characters a body is parsed in one go. */
const shortText = 16_384;
const maxNesting = 64;
/** Values parsed in one go, during which everything else waits. */
const mostValues = 50_000;
/** Characters of a list that are parsed in one go. */
const partLength = 8_192;
/** Characters scanned between two checks of the clock. */
const betweenLooks = 4_096;

/** A JSON number with its source text: a price must not pass through a float. */
export class JsonNumber {
  readonly value: number;
  readonly source: string;
  constructor(value: number, source: string) {
    this.value = value;
    this.source = source;
  }
}

/**
 * Reads a request's body, up to a limit.
 *
 * @throws ServiceError `file_too_large` past `limitBytes`; `value_error` for text that is not UTF-8.
 */
export async function readBody(request: IncomingMessage, limitBytes: number): Promise<string> {
  const tooLarge = () => new ServiceError("file_too_large", `the body is over ${limitBytes} bytes`);
  const body = await readAtMost(request, limitBytes, tooLarge);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch (cause) {
    throw new ServiceError("value_error", "the body is not UTF-8 text", { cause, fix: "Encode the body as UTF-8." });
  }
}

/**
 * Parses a body that must be one JSON object; numbers keep their text.
 *
 * @throws ServiceError `value_error` for text that is not JSON, `invalid_type` for another JSON value.
 */
export function parseJsonObject(text: string): Record<string, unknown> {
  return parseObject(text, keepNumberText as Revive);
}

/**
 * Reads a request's body and parses it like `parseJsonObject`, a long one in parts.
 *
 * @param options `account`: the owner of the work; `mostValues`: over all lists and objects.
 * @throws ServiceError what `readBody` and `parseJsonObject` throw; `value_error` for too many values.
 */
export async function readJsonObject(
  request: IncomingMessage,
  limitBytes: number,
  options: { account: string; mostValues?: number | undefined },
): Promise<Record<string, unknown>> {
  const text = await readBody(request, limitBytes);
  if (text.length <= shortText) return parseJsonObject(text);
  const bounds = { most: options.mostValues ?? mostValues, work: new LongWork(options.account) };
  const value = await parseInParts(text, keepNumberText as Revive, bounds);
  return value === null ? parseJsonObject(text) : requireObject(value);
}

type Revive = (key: string, value: unknown) => unknown;

function parseObject(text: string, revive?: Revive): Record<string, unknown> {
  if (measureJson(text).depth > maxNesting) throw tooDeep();
  let value: unknown;
  try {
    value = JSON.parse(text, revive);
  } catch (cause) {
    // The engine's message has the position, and quotes only the caller's own text.
    const fault = cause instanceof SyntaxError ? `: ${cause.message.slice(0, 120)}` : "";
    throw new ServiceError("value_error", `the body is not JSON${fault}`, { cause, fix: jsonFix });
  }
  return requireObject(value);
}

function requireObject(value: unknown): Record<string, unknown> {
  if (value === null || typeof value !== "object" || Array.isArray(value) || value instanceof JsonNumber) {
    throw new ServiceError("invalid_type", "the body must be a JSON object", {
      fix: "Send the body as a JSON object.",
    });
  }
  return value as Record<string, unknown>;
}

function keepNumberText(_key: string, value: unknown, context?: { source?: string }): unknown {
  return typeof value === "number" ? new JsonNumber(value, context?.source ?? String(value)) : value;
}

/** A list that is a direct member of the top-level object, without its brackets. */
interface LongList {
  start: number;
  end: number;
  /** The ends of its parts: commas between its items. */
  cuts: number[];
}

/**
 * Parses the text of a JSON object whose members may be long lists, part by part.
 *
 * @param most values in all, including those of lists.
 * @returns what `JSON.parse` returns for the text; null for text that is not JSON, and for some that is.
 * @throws ServiceError `value_error` for more values than `most` or than one part may have, or over 64 levels deep.
 */
export async function parseInParts(
  text: string,
  revive: ((key: string, value: unknown) => unknown) | undefined,
  { most, work }: { most: number; work: LongWork },
): Promise<unknown> {
  const lists = await findLongLists(text, most, work);
  if (!lists) return null;
  // Random, so that no client can send the placeholder of a list.
  const mark = randomUUID();
  let [short, at] = ["", 0];
  for (const [index, { start, end }] of lists.entries()) {
    short += `${text.slice(at, start - 1)}"${mark} ${index}"`;
    at = end + 1;
  }
  try {
    const value: unknown = JSON.parse(short + text.slice(at), revive);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    for (const [name, member] of Object.entries(value)) {
      // A list stands where a member name belongs.
      if (name.startsWith(mark)) return null;
      const list = typeof member === "string" && member.startsWith(mark) ? lists[Number(member.slice(37))] : undefined;
      if (!list) continue;
      const items = await parseList(text, list, revive, work);
      if (!items) return null;
      // Defined, so that a member called __proto__ stays a member.
      Object.defineProperty(value, name, { value: items, writable: true, enumerable: true, configurable: true });
    }
    return value;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

async function parseList(
  text: string,
  { start, cuts, end }: LongList,
  revive: ((key: string, value: unknown) => unknown) | undefined,
  work: LongWork,
): Promise<unknown[] | null> {
  const items: unknown[] = [];
  let from = start;
  for (const cut of [...cuts, end]) {
    if (work.isOver) await work.rest();
    const part: unknown[] = JSON.parse(`[${text.slice(from, cut)}]`, revive);
    // Two commas without an item in between.
    if (part.length === 0) return null;
    for (const item of part) items.push(item);
    from = cut + 1;
  }
  return items;
}

/** @returns null for text with unbalanced brackets. */
async function findLongLists(text: string, most: number, work: LongWork): Promise<LongList[] | null> {
  const lists: LongList[] = [];
  let list: LongList | null = null;
  let [level, values, together, partStart, inString] = [0, 0, 0, 0, false];
  for (let at = 0; at < text.length; at += 1) {
    if (at % betweenLooks === 0 && work.isOver) await work.rest();
    const code = text.charCodeAt(at);
    if (inString) {
      if (code === 0x5c) at += 1;
      else if (code === 0x22) inString = false;
    } else if (code === 0x22) inString = true;
    else if (code === 0x7b || code === 0x5b) {
      level += 1;
      if (level > maxNesting) throw tooDeep();
      if (level !== 2 || code !== 0x5b) continue;
      list = { start: at + 1, end: at + 1, cuts: [] };
      partStart = at;
    } else if (code === 0x7d || code === 0x5d) {
      level -= 1;
      if (level !== 1 || !list) continue;
      if (code !== 0x5d) return null;
      if (list.cuts.length > 0) lists.push({ ...list, end: at });
      list = null;
    } else if (code === 0x2c || code === 0x3a) {
      values += 1;
      together += 1;
      if (level === 2 && code === 0x2c && list && at - partStart >= partLength) {
        list.cuts.push(at);
        partStart = at;
        together = 0;
      }
      if (values > most || together > mostValues) throw tooManyValues(values > most ? most : mostValues);
    }
  }
  return lists;
}

function tooDeep(): ServiceError {
  return new ServiceError("value_error", `the body is nested over ${maxNesting} levels`, {
    fix: `Send objects and lists in at most ${maxNesting} levels of one another.`,
  });
}

function tooManyValues(most: number): ServiceError {
  return new ServiceError("value_error", `the body has over ${most} values; send less in one request`, {
    fix: `Send at most ${most} values in one request, and the rest in further ones.`,
  });
}
