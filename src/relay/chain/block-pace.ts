import { setTimeout as sleep } from "node:timers/promises";
import type { Chain } from "../../chains.ts";
import { type Block, calls, parseBlock } from "./reads.ts";
import type { Nodes } from "./rpc-nodes.ts";

/** Where a chain stands, and how fast it makes blocks. */
export interface ChainPace {
  head: bigint;
  /** Mean time between the blocks up to the head, in milliseconds; null for a chain that has none to compare. */
  blockMs: bigint | null;
}

/** So many blocks are measured over: some minutes on a fast chain. */
const measuredBlocks = 128n;
const freshMs = { local: 200, elsewhere: 1_000 };
/** Nobody who asks how far a deployment is waits longer for a node than this. */
const timeoutMs = 2_000;

const readings = new WeakMap<Nodes, { at: number; reading: Promise<ChainPace> }>();

/** The chain's newest block and block time, a second old at most; null while no endpoint answers in time. */
export async function readChainPace(nodes: Nodes, chain: Chain): Promise<ChainPace | null> {
  const known = readings.get(nodes);
  const isFresh = known && performance.now() - known.at < (chain.local ? freshMs.local : freshMs.elsewhere);
  const reading = isFresh ? known.reading : measure(nodes);
  if (!isFresh) readings.set(nodes, { at: performance.now(), reading });
  const end = new AbortController();
  const late = sleep(timeoutMs, null, { signal: end.signal }).catch(() => null);
  return await Promise.race([reading.catch(() => null), late]).finally(() => end.abort());
}

async function measure(nodes: Nodes): Promise<ChainPace> {
  return await nodes.first(async (node) => {
    const [latest] = await node.ask([calls.block("latest")]);
    const head = parseBlock(latest);
    const before = head.number > measuredBlocks ? head.number - measuredBlocks : 0n;
    const [earlier] = await node.ask([calls.block(before)]);
    return { head: head.number, blockMs: meanBlockMs(parseBlock(earlier), head) };
  });
}

/** The first block of a chain may be years older than the second one, so it is none to measure from. */
function meanBlockMs(first: Block, last: Block): bigint | null {
  const blocks = last.number - first.number;
  if (blocks <= 0n || first.number === 0n || first.timestamp === undefined || last.timestamp === undefined) return null;
  const elapsed = last.timestamp - first.timestamp;
  return elapsed > 0n ? (elapsed * 1_000n) / blocks : null;
}
