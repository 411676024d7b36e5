import { type AnswerClass, nodeWords } from "../rpc/answers.ts";
import { Contradiction, LeftChain, NodeRefusal, Refused, WrongChain } from "./json-rpc.ts";
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

/** What was wrong with an answer. `unbelieved`: it cannot be true. `unreachable`: none came, or it was not JSON-RPC. */
export type FaultClass = AnswerClass | "unbelieved" | "wrong_chain" | "unreachable";

export interface LastFault {
  class: FaultClass;
  /** Milliseconds. */
  at: number;
  /** In a line that anybody may read: without addresses and keys. */
  words: string;
}

/** What went wrong with one endpoint since the start. */
class EndpointFaults {
  readonly counts = new Map<FaultClass, number>();
  last: LastFault | null = null;

  record(error: unknown): void {
    const kind = faultOf(error);
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
    const words = error instanceof NodeRefusal ? error.error.message : error instanceof Error ? error.message : error;
    this.last = { class: kind, at: Date.now(), words: publicWords(String(words)) };
  }
}

function faultOf(error: unknown): FaultClass {
  if (error instanceof NodeRefusal) return error.kind;
  if (error instanceof WrongChain) return "wrong_chain";
  return error instanceof Refused || error instanceof Contradiction || error instanceof LeftChain
    ? "unbelieved"
    : "unreachable";
}

/** `/status` is for anybody: neither hosts nor what may be a key. */
function publicWords(text: string): string {
  return nodeWords(text)
    .replaceAll(/\b(ENOTFOUND|EAI_AGAIN) \S+/g, "$1 <host>")
    .replaceAll(/\[[0-9a-f:]{3,}\]|\b[\w-]+(\.[\w-]+)+(:\d+)?\b|\blocalhost(:\d+)?\b/gi, (word) =>
      /^\d+(\.\d+)?$/.test(word) ? word : "<host>",
    )
    .replaceAll(/\b(?!0x)(?=[\w-]*\d)[\w-]{16,}\b/g, "<key>");
}
