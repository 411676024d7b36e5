import { useQuery } from "@tanstack/react-query";
import type { ResultOf } from "gql.tada";
import { graphql } from "../../client/src/graphql.ts";
import { api } from "./api.ts";
import type { PlotBar } from "./plot.tsx";

const query = graphql(`query ($chain: ChainName!, $address: Address!, $since: DateTime!, $after: String) {
  contract(chain: $chain, address: $address) { transfers(kinds: [MINT], since: $since, first: 100, after: $after) {
    nodes { timestamp } pageInfo { hasNextPage endCursor }
  } }
}`);

type Transfers = NonNullable<NonNullable<ResultOf<typeof query>["contract"]>["transfers"]>;

const hourMs = 3_600_000;
/** A page has 100 mints; more than this are not read for a plot. */
const mostPages = 20;

export interface Mints {
  /** Unix milliseconds of the blocks, newest first. */
  times: number[];
  /** There are older ones in the time asked for that were not read. */
  cut: boolean;
}

/** The mints of the last hours. */
export function useMints(chain: string, address: string, hours = 24) {
  return useQuery({
    queryKey: ["mints", chain, address.toLowerCase(), hours],
    queryFn: () => readMints(chain, address, hours),
    refetchInterval: 15_000,
  });
}

async function readMints(chain: string, address: string, hours: number): Promise<Mints> {
  const since = new Date(Date.now() - hours * hourMs).toISOString();
  const times: number[] = [];
  let after: string | null = null;
  for (let page = 0; page < mostPages; page += 1) {
    const answer: ResultOf<typeof query> = await api.graphql(query, { chain, address, since, after });
    const transfers: Transfers | null | undefined = answer.contract?.transfers;
    if (!transfers) break;
    const { nodes, pageInfo } = transfers;
    times.push(...nodes.map(({ timestamp }) => new Date(timestamp).getTime()));
    if (!pageInfo.hasNextPage) return { times, cut: false };
    after = pageInfo.endCursor;
  }
  return { times, cut: times.length > 0 };
}

/** One bar for each of the last hours, the oldest first. */
export function barsByHour(times: readonly number[], hours = 24, now = Date.now()): PlotBar[] {
  const first = Math.floor(now / hourMs) - hours + 1;
  const counts = Array.from({ length: hours }, () => 0);
  for (const time of times) {
    const at = Math.floor(time / hourMs) - first;
    if (at >= 0 && at < hours) counts[at] = (counts[at] ?? 0) + 1;
  }
  return counts.map((value, at) => {
    const hour = new Date((first + at) * hourMs);
    const label = hour.toLocaleString([], { weekday: "short", hour: "2-digit", minute: "2-digit" });
    return { label, value };
  });
}
