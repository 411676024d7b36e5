import type { IncomingMessage } from "node:http";
import { ServiceError } from "../errors/errors.ts";
import { measureJson } from "../json/measure-json.ts";
import { LongWork } from "../long-work.ts";
import { readAtMost } from "../read-at-most.ts";
import { maxNesting, mostValues, parseInParts, tooDeep } from "./parse-in-parts.ts";

/** Characters up to which a body is parsed at once. */
const shortText = 16_384;

/** A JSON number together with its own text: a price must not pass through a float. */
export class JsonNumber {
  readonly value: number;
  readonly source: string;
  constructor(value: number, source: string) {
    this.value = value;
    this.source = source;
  }
}

/**
 * Reads a request's body, bounded.
 *
 * @throws ServiceError `file_too_large` past `limitBytes`; `value_error` for text that is not UTF-8.
 */
export async function readBody(request: IncomingMessage, limitBytes: number): Promise<string> {
  const tooLarge = () => new ServiceError("file_too_large", `the body is over ${limitBytes} bytes`);
  const body = await readAtMost(request, limitBytes, tooLarge);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch (cause) {
    throw new ServiceError("value_error", "the body is not UTF-8 text", { cause });
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
 * Reads a request's body and parses it as `parseJsonObject` does, a long one in parts.
 *
 * @param options `account`: whose work it is; `mostValues`: of all lists and objects together.
 * @throws ServiceError what `readBody` and `parseJsonObject` throw; `value_error` for too many values.
 */
export async function readJsonObject(
  request: IncomingMessage,
  limitBytes: number,
  options: { account: string; mostValues?: number },
): Promise<Record<string, unknown>> {
  const text = await readBody(request, limitBytes);
  if (text.length <= shortText) return parseJsonObject(text);
  const bounds = { most: options.mostValues ?? mostValues, work: new LongWork(options.account) };
  const value = await parseInParts(text, keepNumberText as Revive, bounds);
  return value === null ? parseJsonObject(text) : requireObject(value);
}

/** The same with numbers as numbers. */
export function parsePlainObject(text: string): Record<string, unknown> {
  return parseObject(text);
}

type Revive = (key: string, value: unknown) => unknown;

function parseObject(text: string, revive?: Revive): Record<string, unknown> {
  if (measureJson(text).depth > maxNesting) throw tooDeep();
  let value: unknown;
  try {
    value = JSON.parse(text, revive);
  } catch (cause) {
    // The engine names the position; what it quotes is the caller's own text.
    const fault = cause instanceof SyntaxError ? `: ${cause.message.slice(0, 120)}` : "";
    throw new ServiceError("value_error", `the body is not JSON${fault}`, { cause });
  }
  return requireObject(value);
}

function requireObject(value: unknown): Record<string, unknown> {
  if (value === null || typeof value !== "object" || Array.isArray(value) || value instanceof JsonNumber) {
    throw new ServiceError("invalid_type", "the body must be a JSON object");
  }
  return value as Record<string, unknown>;
}

function keepNumberText(_key: string, value: unknown, context?: { source?: string }): unknown {
  return typeof value === "number" ? new JsonNumber(value, context?.source ?? String(value)) : value;
}
