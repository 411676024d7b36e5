import { perDay } from "../auth/rate-limit.ts";

/** Milliseconds of this process's time: how many come back in a second, and how many there are at most. */
export interface TimeBudget {
  perSecond: number;
  most: number;
}

/** A budget of so many milliseconds in any 24 hours: half at once, and the other half as the day goes on. */
export function timeOfDay(ms: number): TimeBudget {
  const { perSecond, burst } = perDay(ms);
  return { perSecond, most: burst };
}

const day = "day of ";

/** Under which an owner's day is kept beside what the owner may take at once. */
export const dayOf = (owner: string): string => `${day}${owner}`;
export const isDay = (name: string): boolean => name.startsWith(day);
