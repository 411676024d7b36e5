import { randomBytes } from "node:crypto";
import type { Plugin } from "graphql-yoga";

/** No text of PostgreSQL has a NUL in it, and no client knows the rest. */
const mark = `\u0000${randomBytes(12).toString("hex")}:`;
const written = new RegExp(`"\\\\u0000${mark.slice(1)}((?:[^"\\\\]|\\\\.)*)"`, "g");

/** JSON text that shall stand in the answer as it is: every number and the order of members as they were. */
export function rawText(text: string): string {
  return mark + text;
}

/** The JSON text behind a value of `rawText`; null for any other text. */
export function textOfRaw(text: string): string | null {
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
