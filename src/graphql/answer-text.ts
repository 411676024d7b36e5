import { randomBytes } from "node:crypto";
import type { GraphQLError } from "graphql";
import type { Plugin } from "graphql-yoga";
import { ServiceError } from "../errors/errors.ts";

/** No text of PostgreSQL has a NUL in it, and no client knows the rest. */
const mark = `\u0000${randomBytes(12).toString("hex")}:`;
const written = new RegExp(`"\\\\u0000${mark.slice(1)}((?:[^"\\\\]|\\\\.)*)"`, "g");

/** JSON text that shall stand in the answer as it is: every number and the order of members as they were. */
export function rawText(text: string): string {
  return mark + text;
}

/** The JSON text behind a value of `rawText`; null for any other text. */
function textOfRaw(text: string): string | null {
  return text.startsWith(mark) ? text.slice(mark.length) : null;
}

/** Puts the marked texts in their places when the answer is written. */
export const rawTexts: Plugin = {
  onResultProcess({ result }) {
    if (!("data" in result)) return;
    Object.assign(result, {
      stringify: (whole: object) =>
        JSON.stringify(whole).replace(written, (_all, text: string) => JSON.parse(`"${text}"`) as string),
    });
  },
};

/**
 * Bytes of one answer. A page of 100 tokens with the longest texts that lists show stays below it, unless they
 * consist of control characters; aliases multiply texts without reading more.
 */
export const maxAnswerBytes = 33_554_432;

/**
 * Refuses an answer that would be longer, before its text is made. Reads that go past the executor are passed on to it
 * when they are longer, so both ways refuse the same ones.
 *
 * @param toError makes what a resolver's failure becomes in an answer.
 */
export function boundAnswer(toError: (error: Error) => GraphQLError): Plugin {
  return {
    onResultProcess({ result }) {
      if (!("data" in result) || result.data == null || roomAfter(result.data, maxAnswerBytes) >= 0) return;
      const message = `the answer is over ${maxAnswerBytes} bytes; ask for fewer items, fields or aliases at once`;
      Object.assign(result, { data: null, errors: [toError(new ServiceError("value_error", message))] });
    },
  };
}

/** What is left of `room` bytes; below 0 as soon as the values of `value` do not fit. */
function roomAfter(value: unknown, room: number): number {
  if (typeof value === "string") return room - bytesOf(value);
  if (typeof value !== "object" || value === null) return room - 1;
  let left = room;
  for (const member of Object.values(value)) {
    left = roomAfter(member, left);
    if (left < 0) return left;
  }
  return left;
}

function bytesOf(text: string): number {
  const raw = textOfRaw(text);
  if (raw !== null) return Buffer.byteLength(raw);
  // Short ones are many, and escapes hardly matter in them.
  return text.length < 256 ? text.length : Buffer.byteLength(JSON.stringify(text));
}
