import { exactTime, relativeTime } from "../shared/times.ts";

/** A time in few words; pointing at it, or reaching it by keyboard, shows the exact time. */
export function Time({ at }: { at: string | number }) {
  const ms = typeof at === "number" ? at : Date.parse(at);
  const exact = exactTime(ms);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the exact time has to be reached by keyboard
    <time className="exact" dateTime={new Date(ms).toISOString()} data-exact={exact} tabIndex={0}>
      {relativeTime(ms)}
      <span className="hidden">, {exact}</span>
    </time>
  );
}
