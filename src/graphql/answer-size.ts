import type { GraphQLError } from "graphql";
import type { Plugin } from "graphql-yoga";
import { ServiceError } from "../errors/errors.ts";
import { textOfRaw } from "./raw-text.ts";

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
