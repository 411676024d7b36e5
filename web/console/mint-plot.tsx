import { BarPlot } from "./plot.tsx";

/** A plot of mints by the hour. @param counted one number for each hour from Unix second `from` on. */
export function MintPlot({ counted: { from, mints } }: { counted: { from: number; mints: readonly number[] } }) {
  const bars = mints.map((value, at) => {
    const hour = new Date((from + at * 3_600) * 1_000);
    const label = hour.toLocaleString([], { weekday: "short", hour: "2-digit", minute: "2-digit" });
    return { label, value };
  });
  return <BarPlot title="Mints per hour, the last 24 hours" bars={bars} />;
}
