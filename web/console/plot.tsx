export interface PlotBar {
  /** What the bar stands for, in words. */
  label: string;
  value: number;
}

const width = 600;
const height = 120;

/** Bars over time. What they show is in the caption too, so nobody needs to see them. */
function BarPlot({ title, bars, note }: { title: string; bars: readonly PlotBar[]; note?: string }) {
  const most = Math.max(1, ...bars.map(({ value }) => value));
  const sum = bars.reduce((total, { value }) => total + value, 0);
  const step = width / Math.max(bars.length, 1);
  return (
    <figure className="plot">
      <figcaption className="small">
        <strong>{title}</strong>
        <span className="quiet">
          {sum.toLocaleString()} in all, {most.toLocaleString()} at most in one bar{note ? `; ${note}` : ""}
        </span>
      </figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
        {bars.map(({ label, value }, at) => (
          <rect
            key={label}
            x={at * step + step * 0.1}
            width={step * 0.8}
            y={height - (value / most) * height}
            height={(value / most) * height}
          >
            <title>{`${label}: ${value.toLocaleString()}`}</title>
          </rect>
        ))}
        <line x1={0} x2={width} y1={height} y2={height} />
      </svg>
      <p className="row apart small quiet">
        <span>{bars[0]?.label}</span>
        <span>{bars.at(-1)?.label}</span>
      </p>
    </figure>
  );
}

/** Mints as the server counts them. @param counted from Unix second `from` on, one number for each hour. */
export function MintPlot({ counted: { from, mints } }: { counted: { from: number; mints: readonly number[] } }) {
  const bars = mints.map((value, at) => {
    const hour = new Date((from + at * 3_600) * 1_000);
    const label = hour.toLocaleString([], { weekday: "short", hour: "2-digit", minute: "2-digit" });
    return { label, value };
  });
  return <BarPlot title="Mints per hour, the last 24 hours" bars={bars} />;
}
