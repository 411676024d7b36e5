export interface PlotBar {
  /** What the bar stands for. */
  label: string;
  value: number;
  /** The value in words; the number unless given. */
  says?: string;
}

/** Null: the value at that time is not known. */
export interface PlotPoint {
  /** Unix seconds. */
  at: number;
  value: number | null;
}

export interface PlotLine {
  name: string;
  points: readonly PlotPoint[];
  /** A description of the line, if there are several. */
  says?: string;
}

const width = 600;
const height = 120;
/** Distance of a line's lowest and highest position from the edges, which would otherwise cut off half of its width. */
const inset = 3;
/** Distinguishable styles of lines, as console.css draws them. */
const kinds = 5;

interface BarPlotProps {
  title: string;
  bars: readonly PlotBar[];
  /** Replaces the sum and the highest bar in the caption. */
  says?: string;
}

/** Bars over time. The caption has the same information, so nobody needs to see the bars. */
export function BarPlot({ title, bars, says }: BarPlotProps) {
  const most = Math.max(0, ...bars.map(({ value }) => value));
  const sum = bars.reduce((total, { value }) => total + value, 0);
  const words = says ?? `${sum.toLocaleString()} in all, ${most.toLocaleString()} at most in one bar`;
  const step = width / Math.max(bars.length, 1);
  const top = most || 1;
  return (
    <figure className="plot">
      <Caption title={title} words={words} />
      <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
        {bars.map(({ label, value, says: text }, at) => (
          <rect
            // In the night when clocks go back two hours have one name.
            // biome-ignore lint/suspicious/noArrayIndexKey: a bar is its place
            key={at}
            x={at * step + step * 0.1}
            width={step * 0.8}
            y={height - (value / top) * height}
            height={(value / top) * height}
          >
            <title>{`${label}: ${text ?? value.toLocaleString()}`}</title>
          </rect>
        ))}
        <line x1={0} x2={width} y1={height} y2={height} />
      </svg>
      <Ends first={bars[0]?.label} last={bars.at(-1)?.label} />
    </figure>
  );
}

interface LinePlotProps {
  title: string;
  says: string;
  lines: readonly PlotLine[];
  /** Unix seconds of both ends; `since` is the start in words, and the end is now. */
  from: number;
  to: number;
  since: string;
  /** Seconds without a point after which the line is interrupted. */
  gap: number;
}

/** Lines over time, from zero to the highest value. The caption has the same information, so nobody has to see them. */
export function LinePlot({ title, says, lines, from, to, since, gap }: LinePlotProps) {
  const top = Math.max(0, ...lines.flatMap(({ points }) => points.map(({ value }) => value ?? 0))) || 1;
  const place = ({ at, value }: { at: number; value: number }) =>
    `${round(((at - from) / Math.max(to - from, 1)) * width)} ${round(height - inset - (value / top) * (height - 2 * inset))}`;
  return (
    <figure className="plot">
      <Caption title={title} words={says} />
      <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
        <line x1={0} x2={width} y1={height} y2={height} />
        {lines.map(({ name, points }, at) => (
          <path
            key={name}
            className={`line-${at % kinds}`}
            d={stretches(points, gap)
              // A single point becomes a short dash.
              .map((some) => `M${some.map(place).join("L")}${some.length === 1 ? "m-2 0h4" : ""}`)
              .join("")}
          />
        ))}
      </svg>
      <Ends first={since} last="now" />
      {lines.some((line) => line.says) && (
        <ul className="plain small">
          {lines.map(({ name, says: words }, at) => (
            <li key={name} className="legend">
              <svg viewBox="0 0 24 4" aria-hidden="true">
                <path className={`line-${at % kinds}`} d="M0 2H24" />
              </svg>
              <span>
                {name}: {words}
              </span>
            </li>
          ))}
        </ul>
      )}
    </figure>
  );
}

const round = (value: number) => Math.round(value * 10) / 10;

/** The parts of a line between its gaps. */
function stretches(points: readonly PlotPoint[], gap: number): { at: number; value: number }[][] {
  const all: { at: number; value: number }[][] = [];
  let before: number | null = null;
  for (const { at, value } of points) {
    const goesOn = before !== null && at - before <= gap;
    before = value === null ? null : at;
    if (value === null) continue;
    if (goesOn) all.at(-1)?.push({ at, value });
    else all.push([{ at, value }]);
  }
  return all;
}

function Caption({ title, words }: { title: string; words: string }) {
  return (
    <figcaption className="small">
      <strong>{title}</strong>
      <span className="quiet">{words}</span>
    </figcaption>
  );
}

function Ends({ first, last }: { first: string | undefined; last: string | undefined }) {
  return (
    <p className="row apart small quiet">
      <span>{first}</span>
      <span>{last}</span>
    </p>
  );
}
