import { useQuery } from "@tanstack/react-query";
import { counted, formatFee, shortAddress } from "../../shared/amounts.ts";
import { ask } from "../api.ts";
import { useCoin } from "../installation.ts";
import { BarPlot, LinePlot, type PlotPoint } from "../plot.tsx";

/** From `/console/history`. Times are Unix seconds, amounts decimal text. */
interface ChainHistory {
  chain: string;
  chainId: number;
  /** Interval between two points. */
  everySeconds: number;
  points: {
    at: number;
    lagSeconds: number | null;
    lagBlocks: number | null;
    waiting: number;
    oldestSeconds: number | null;
  }[];
  wallets: { wallet: string; points: { at: number; wei: string }[] }[];
  spending: { hour: number; wei: string }[];
}

interface History {
  now: number;
  chains: ChainHistory[];
}

export function useHistory() {
  return useQuery({
    queryKey: ["history"],
    queryFn: () => ask<History>("/console/history"),
    refetchInterval: 15_000,
  });
}

const hour = 3_600;
const hoursShown = 24;
/** The shortest time that a plot shows, as for a chain that was just started. */
const leastSpan = 600;

/** The last day of a chain: its index, its queue, its wallets' balances, and their spending. */
export function ChainPlots({ history, now, pays }: { history: ChainHistory; now: number; pays: boolean }) {
  const { chain, points, wallets, spending, everySeconds } = history;
  const coin = useCoin(chain);
  const first = points[0];
  if (!first) return <p className="quiet">The first figures come within five minutes.</p>;
  const age = Math.max(now - first.at, leastSpan);
  // The oldest sample of a full day is some minutes less than a day old.
  const seconds = age > (hoursShown - 1) * hour ? hoursShown * hour : age;
  const gap = everySeconds * 2.5;
  const span = { from: now - seconds, to: now, since: `${durationText(seconds)} ago`, gap };
  // When no worker is running any more, the newest sample is not the current state.
  const quietFor = now - (points.at(-1)?.at ?? now);
  const when = quietFor > gap ? `${durationText(quietFor)} ago` : "now";
  const pick = (of: (point: (typeof points)[number]) => number | null): PlotPoint[] =>
    points.map((point) => ({ at: point.at, value: of(point) }));
  const lag = pick(({ lagSeconds }) => lagSeconds);
  const queue = pick(({ waiting }) => waiting);
  const oldest = Math.max(0, ...points.map(({ oldestSeconds }) => oldestSeconds ?? 0));
  return (
    <div className="plots">
      <LinePlot
        title="Index lag"
        says={inWords(lag, durationText, when)}
        lines={[{ name: "lag", points: lag }]}
        {...span}
      />
      <LinePlot
        title="Requests that wait"
        says={`${inWords(queue, String, when)}${oldest > 0 ? `; the longest waited ${durationText(oldest)} for its signature` : ""}`}
        lines={[{ name: "waiting", points: queue }]}
        {...span}
      />
      {pays && <Balances wallets={wallets} coin={coin} when={when} span={span} />}
      {(pays || spending.length > 0) && <Spending spending={spending} coin={coin} now={now} />}
    </div>
  );
}

interface Span {
  from: number;
  to: number;
  since: string;
  gap: number;
}

interface BalancesProps {
  wallets: ChainHistory["wallets"];
  coin: string;
  when: string;
  span: Span;
}

function Balances({ wallets, coin, when, span }: BalancesProps) {
  const lines = wallets.map(({ wallet, points }) => ({
    name: shortAddress(wallet),
    // A number's sixteen digits are enough for the line; the text has the exact amount.
    points: points.map(({ at, wei }) => ({ at, value: Number(wei) })),
    says: `${amount(points.at(-1)?.wei, coin)} ${when}, ${amount(most(points)?.wei, coin)} at most`,
  }));
  return <LinePlot title="Balances" says={counted(lines.length, "wallet")} lines={lines} {...span} />;
}

function Spending({ spending, coin, now }: { spending: ChainHistory["spending"]; coin: string; now: number }) {
  const latest = Math.floor(now / hour) * hour;
  const hours = Array.from({ length: hoursShown }, (_, at) => latest - (hoursShown - 1 - at) * hour);
  const weiOf = (start: number) => spending.find((one) => one.hour === start)?.wei ?? "0";
  const sum = spending.reduce((total, { wei }) => total + BigInt(wei), 0n);
  const bars = hours.map((start) => {
    const wei = weiOf(start);
    return { label: hourText(start), value: Number(wei), says: amount(wei, coin) };
  });
  const says = `${amount(weiOf(latest), coin)} this hour, ${amount(most(spending)?.wei ?? "0", coin)} at most in one, ${amount(String(sum), coin)} in all`;
  return <BarPlot title="Spent by hour" bars={bars} says={says} />;
}

const most = <T extends { wei: string }>(points: readonly T[]): T | undefined =>
  points.reduce<T | undefined>((top, point) => (!top || BigInt(point.wei) > BigInt(top.wei) ? point : top), undefined);

const amount = (wei: string | undefined, coin: string) =>
  wei === undefined ? "not known" : `${formatFee(BigInt(wei))} ${coin}`;

const hourText = (seconds: number) =>
  new Date(seconds * 1_000).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });

function durationText(seconds: number): string {
  if (seconds < 120) return counted(seconds, "second");
  return seconds < 2 * hour ? counted(Math.round(seconds / 60), "minute") : counted(Math.round(seconds / hour), "hour");
}

/** A line's newest value, with its time in words, and its highest value. */
function inWords(points: readonly PlotPoint[], text: (value: number) => string, when: string): string {
  const values = points.map(({ value }) => value).filter((value) => value !== null);
  if (values.length === 0) return "not known";
  const newest = points.at(-1)?.value ?? null;
  return `${newest === null ? "not known" : text(newest)} ${when}, ${text(Math.max(...values))} at most`;
}
