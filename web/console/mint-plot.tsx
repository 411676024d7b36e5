import { BarPlot } from "./plot.tsx";

/** Mints as the server counts them. @param counted from Unix second `from` on, one number for each hour. */
export function MintPlot({ counted: { from, mints } }: { counted: { from: number; mints: readonly number[] } }) {
  const bars = mints.map((value, at) => {
    const hour = new Date((from + at * 3_600) * 1_000);
    const label = hour.toLocaleString([], { weekday: "short", hour: "2-digit", minute: "2-digit" });
    return { label, value };
  });
  return <BarPlot title="Mints per hour, the last 24 hours" bars={bars} />;
}
