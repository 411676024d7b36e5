import { randomBytes } from "node:crypto";
import type { GraphQLError } from "graphql";
import type { Plugin } from "graphql-yoga";
import { ServiceError } from "../errors/errors.ts";

/** PostgreSQL text never contains a NUL, and no client can guess the random bytes. */
const mark = `\u0000${randomBytes(12).toString("hex")}:`;
const written = new RegExp(`"\\\\u0000${mark.slice(1)}((?:[^"\\\\]|\\\\.)*)"`, "g");

/** Marks JSON text that goes into the answer verbatim, with its numbers and member order. */
export function rawText(text: string): string {
  return mark + text;
}

/** The JSON text inside a value of `rawText`; null for any other text. */
function textOfRaw(text: string): string | null {
  return text.startsWith(mark) ? text.slice(mark.length) : null;
}

/** Replaces the marked strings by their JSON text when the answer is serialized. */
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
 * The largest answer, in bytes. A page of 100 tokens with the longest texts that lists show stays below it, unless they
 * consist of control characters; aliases repeat texts without further reads.
 */
export const maxAnswerBytes = 33_554_432;

/**
 * Refuses an answer over the limit before it is serialized. Fast-path answers over the limit are re-run by the
 * executor, so both paths refuse the same ones.
 *
 * @param toError turns a resolver's failure into an error of the answer.
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

/** The bytes left of `room` after `value`; negative as soon as it does not fit. */
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
  // Short texts are frequent, and escapes hardly add to their size.
  return text.length < 256 ? text.length : Buffer.byteLength(JSON.stringify(text));
}
