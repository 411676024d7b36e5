import { LRUCache } from "lru-cache";
import { entryBound } from "../cache-bounds.ts";

/** Format of to_char: UTC without a zone, to microseconds. */
export const naive = 'YYYY-MM-DD"T"HH24:MI:SS.US';

/** @param seconds of Unix time. @returns as JavaScript writes a date: `2026-01-01T00:00:00.000Z`. */
export function toIso(seconds: string): string {
  const time = Number(seconds);
  const day = Math.floor(time / 86_400);
  const inDay = time - day * 86_400;
  const two = (value: number) => (value < 10 ? `0${value}` : `${value}`);
  return `${dateOf(day)}T${two(Math.floor(inDay / 3_600))}:${two(Math.floor(inDay / 60) % 60)}:${two(inDay % 60)}.000Z`;
}

/** Dates by their day since 1970: the tokens of a page were minted on few days, and a Date for each costs a tenth of a page. */
const dates = new LRUCache<number, string>(entryBound(2_000));

function dateOf(day: number): string {
  const known = dates.get(day);
  if (known !== undefined) return known;
  const date = new Date(day * 86_400_000).toISOString().slice(0, -14);
  dates.set(day, date);
  return date;
}

/** The same without parts of a second and without a zone, as /v0 writes it. */
export function toNaiveSeconds(seconds: string): string {
  return toIso(seconds).slice(0, 19);
}
