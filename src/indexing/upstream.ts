import { EndpointFaults, type FaultClass, type LastFault } from "./endpoint-faults.ts";
import { rateLimit } from "./line.ts";
import { LogWidth } from "./log-width.ts";

/** One endpoint of a chain, and what is known of it since the start. */
export interface Upstream {
  url: string;
  host: string;
  /** Its chain id was checked since it last failed. */
  verified: boolean;
  failures: number;
  /** Keeps to the requests per second that this node allows. */
  limit<T>(run: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Not asked before this time (ms), unless all others fail too. */
  restsUntil: number;
  /** The last audit found that it serves something else; not asked as long as another endpoint does not. */
  contradicts: boolean;
  /** The newest block that it said it has. */
  head: bigint;
  /** Of its chain, after an answer that only that check can prove: the one that has begun, and the one that will. */
  lastCheck: Promise<void>;
  nextCheck: Promise<void> | null;
  width: LogWidth;
  faults: EndpointFaults;
}

export function openUpstream(url: string, requestsPerSecond: number): Upstream {
  return {
    url,
    host: new URL(url).host,
    verified: false,
    failures: 0,
    limit: rateLimit(requestsPerSecond),
    restsUntil: 0,
    contradicts: false,
    head: -1n,
    lastCheck: Promise.resolve(),
    nextCheck: null,
    width: new LogWidth(),
    faults: new EndpointFaults(),
  };
}

export interface EndpointHealth {
  host: string;
  /** `rests`: it failed and is asked last; `contradicts`: it serves another chain or history, and is asked only if all do. */
  state: "used" | "rests" | "contradicts";
  /** Of how many blocks it gives logs at a time; null: of as many as were asked for. */
  blocksOfLogs: number | null;
  fault: LastFault | null;
  /** How many of each class. */
  faults: ReadonlyMap<FaultClass, number>;
}

export function healthOf({ host, contradicts, restsUntil, width, faults }: Upstream): EndpointHealth {
  return {
    host,
    state: contradicts ? "contradicts" : restsUntil > Date.now() ? "rests" : "used",
    blocksOfLogs: width.most === null ? null : Number(width.most),
    fault: faults.last,
    faults: faults.counts,
  };
}
