import type { ByteWriter } from "./byte-writer.ts";

/** Format of to_char: UTC without a zone, to microseconds. */
export const naive = 'YYYY-MM-DD"T"HH24:MI:SS.US';

/** @param seconds of Unix time. @returns as JavaScript writes a date: `2026-01-01T00:00:00.000Z`. */
export function toIso(seconds: string): string {
  return new Date(Number(seconds) * 1000).toISOString();
}

/**
 * Writes such a time, up to its seconds, from their digits: the tokens of a page have one each, and a Date for each costs a tenth
 * of the page.
 *
 * @param end of the digits, which begin at `start`.
 * @returns false: nothing was written, because these are no digits or a year has not four.
 */
export function writeIsoSeconds(out: ByteWriter, digits: Buffer, start: number, end: number): boolean {
  if (end - start > mostDigits) return false;
  let time = 0;
  for (let at = start; at < end; at += 1) {
    const digit = (digits[at] as number) - zero;
    if (digit < 0 || digit > 9) return false;
    time = time * 10 + digit;
  }
  const day = Math.floor(time / 86_400);
  const inDay = time - day * 86_400;
  writeDate(out, day);
  out.byte(letterT);
  out.twoDigits(Math.floor(inDay / 3_600));
  out.byte(colon);
  out.twoDigits(Math.floor(inDay / 60) % 60);
  out.byte(colon);
  out.twoDigits(inDay % 60);
  return true;
}

/** Of seconds until the year 5138. */
const mostDigits = 11;
const [zero, dash, colon, letterT] = [0x30, 0x2d, 0x3a, 0x54];

/**
 * Years are counted from March, so that a leap day is the last of its year; months have 153 days in five then. An era is 400
 * years of the Gregorian calendar, 146,097 days; the first one here began on 0000-03-01, 719,468 days before 1970.
 */
function writeDate(out: ByteWriter, day: number): void {
  const days = day + 719_468;
  const era = Math.floor(days / 146_097);
  const inEra = days - era * 146_097;
  const yearOfEra = Math.floor(
    (inEra - Math.floor(inEra / 1_460) + Math.floor(inEra / 36_524) - Math.floor(inEra / 146_096)) / 365,
  );
  const inYear = inEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const fromMarch = Math.floor((5 * inYear + 2) / 153);
  const month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  out.twoDigits(Math.floor(year / 100));
  out.twoDigits(year % 100);
  out.byte(dash);
  out.twoDigits(month);
  out.byte(dash);
  out.twoDigits(inYear - Math.floor((153 * fromMarch + 2) / 5) + 1);
}

/** `toIso` without parts of a second and without a zone, as /v0 writes it. */
export function toNaiveSeconds(seconds: string): string {
  return toIso(seconds).slice(0, 19);
}
