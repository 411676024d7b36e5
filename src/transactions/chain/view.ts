import { setTimeout as sleep } from "node:timers/promises";
import type { Address, Hash } from "viem";
import type { Chain } from "../../chains.ts";
import { LaggingNode, NodeFault, type RpcCall, type RpcResult } from "../../rpc/endpoint.ts";
import type { Node, Nodes } from "../../rpc/nodes.ts";
import {
  type Block,
  calls,
  parseBlock,
  parseBlockOrNull,
  parseQuantity,
  parseReceipt,
  type Receipt,
} from "../../rpc/reads.ts";
import { type Fees, freshFees } from "./fees.ts";
import { askMarket } from "./market.ts";

/** The chain's current state, as one endpoint reported it in one request. */
export interface ChainView {
  head: bigint;
  /** The newest final block, as enough endpoints report it; 0 while too few of them answer. */
  finalized: bigint;
  /** Fees for replacing bytes that have waited. */
  fees: Fees;
  /** See `Market`. */
  dataByteWei: bigint;
  wallets: ReadonlyMap<Address, Wallet>;
}

interface Wallet {
  balanceWei: bigint;
  /** Transaction count in the newest block. */
  nonce: bigint;
  /** Transaction count in the finalized block; null when the node keeps too little history. */
  finalNonce: bigint | null;
}

/** For nodes that do not support the tag: deeper than any reorganisation that our chains have had. */
const depthWithoutTag = 300n;
/** Calls per request; nodes refuse many more. */
const batchSize = 100;

/** @throws NodeFault when no endpoint gives a usable answer. */
export async function readChainView(nodes: Nodes, chain: Chain, wallets: readonly Address[]): Promise<ChainView> {
  return await nodes.first(async (node) => {
    const own = wallets.flatMap((address) => [calls.balance(address), calls.count(address, "latest")]);
    const { market, answers } = await askMarket(node, chain, [calls.block("finalized"), ...own]);
    const [tagged, ...rest] = answers;
    const head = market.block.number;
    const finalized =
      chain.relay.quorum <= 1
        ? finalBlock(chain, head, parseBlockOrNull(tagged)?.number ?? null)
        : await agreedFinal(nodes, chain);
    const past = await node.ask(wallets.map((address) => calls.count(address, finalized)));
    return {
      head,
      finalized,
      fees: freshFees(chain, market, true),
      dataByteWei: market.dataByteWei,
      wallets: new Map(
        wallets.map((address, index) => {
          const then = past[index];
          const wallet = {
            balanceWei: parseQuantity(rest[2 * index], "a balance"),
            nonce: parseQuantity(rest[2 * index + 1], "a count"),
            finalNonce: then && "result" in then ? parseQuantity(then, "a count") : null,
          };
          return [address, wallet] as const;
        }),
      ),
    };
  });
}

/** Finality ends requests, so no single endpoint decides it. */
async function agreedFinal(nodes: Nodes, chain: Chain): Promise<bigint> {
  const numbers = await nodes.answers(async (node) => {
    const [latest, tagged] = await node.ask([calls.block("latest"), calls.block("finalized")]);
    return finalBlock(chain, parseBlock(latest).number, parseBlockOrNull(tagged)?.number ?? null);
  });
  numbers.sort((a, b) => Number(b - a));
  return numbers[nodes.needed(chain.relay.quorum) - 1] ?? 0n;
}

/** Development chains have no usable finality (one keeps its tag at 0 for long): the confirmation depth is used. */
function finalBlock(chain: Chain, head: bigint, tagged: bigint | null): bigint {
  const { finality } = chain.relay;
  if (finality === "tag" && !chain.local && tagged !== null) return tagged;
  const depth =
    finality !== "tag"
      ? BigInt(finality)
      : chain.local
        ? BigInt(Math.max(chain.confirmations - 1, 0))
        : depthWithoutTag;
  return head > depth ? head - depth : 0n;
}

/**
 * Receipts of transactions in blocks that are canonical now: nodes have served receipts of orphaned blocks. If the
 * first endpoint lacks a receipt, the next ones are asked.
 */
export async function readReceipts(nodes: Nodes, hashes: readonly Hash[]): Promise<Map<Hash, Receipt>> {
  const found = new Map<Hash, Receipt>();
  if (hashes.length === 0) return found;
  const all = await nodes.all();
  let fault: unknown = all.length === 0 ? new NodeFault("no endpoint answers") : null;
  let answered = false;
  for (const node of all) {
    const missing = hashes.filter((hash) => !found.has(hash));
    if (missing.length === 0) break;
    try {
      const answers = await askAll(node, missing.map(calls.receipt));
      // A wrong answer spoils one receipt, not the others.
      for (const [index, hash] of missing.entries()) {
        const receipt = tryParse(answers[index], hash);
        if (receipt) found.set(hash, receipt);
      }
      answered = true;
    } catch (error) {
      if (!(error instanceof NodeFault)) throw error;
      fault = error;
    }
  }
  if (!answered && fault) throw fault;
  const blocks = await readBlockHashes(
    nodes,
    [...found.values()].map((receipt) => receipt.blockNumber),
    1,
  );
  for (const [hash, receipt] of found) {
    if (blocks.get(receipt.blockNumber) !== receipt.blockHash) found.delete(hash);
  }
  return found;
}

/**
 * The receipt of a transaction that is known to be mined.
 *
 * @throws NodeFault while no endpoint has it.
 */
export async function readReceipt(nodes: Nodes, hash: Hash): Promise<Receipt> {
  return await nodes.first(async (node) => {
    const [answer] = await node.ask([calls.receipt(hash)]);
    const receipt = parseReceipt(answer, hash);
    if (!receipt) throw new LaggingNode(`no receipt of ${hash}`);
    return receipt;
  });
}

/**
 * Hashes of blocks by number, where `quorum` endpoints agree; the others are missing.
 *
 * @param quorum if larger than the number of endpoints, all of them have to agree.
 */
export async function readBlockHashes(
  nodes: Nodes,
  numbers: readonly bigint[],
  quorum: number,
): Promise<Map<bigint, Hash>> {
  const wanted = [...new Set(numbers)];
  const agreed = new Map<bigint, Hash>();
  if (wanted.length === 0) return agreed;
  const read = async (node: Node) =>
    (
      await askAll(
        node,
        wanted.map((at) => calls.block(at)),
      )
    ).map(parseBlockOrNull);
  if (quorum <= 1) {
    const blocks = await nodes.first(read);
    for (const [index, block] of blocks.entries())
      if (block && block.number === wanted[index]) agreed.set(block.number, block.hash);
    return agreed;
  }
  const needed = nodes.needed(quorum);
  const answers = await nodes.answers(read);
  for (const [index, number] of wanted.entries()) {
    const votes = new Map<Hash, number>();
    for (const blocks of answers) {
      const block = blocks[index];
      if (block?.number === number) votes.set(block.hash, (votes.get(block.hash) ?? 0) + 1);
    }
    const [best] = [...votes].sort((a, b) => b[1] - a[1]);
    if (best && best[1] >= needed) agreed.set(number, best[0]);
  }
  return agreed;
}

function tryParse(answer: RpcResult | undefined, hash: Hash): Receipt | null {
  try {
    return parseReceipt(answer, hash);
  } catch {
    return null;
  }
}

async function askAll(node: Node, asked: readonly RpcCall[]): Promise<RpcResult[]> {
  const results: RpcResult[] = [];
  for (let at = 0; at < asked.length; at += batchSize)
    results.push(...(await node.ask(asked.slice(at, at + batchSize))));
  return results;
}

/** A chain's head, and how fast it makes blocks. */
interface ChainPace {
  head: bigint;
  /** Mean time between the blocks up to the head, in milliseconds; null while there are no two blocks to compare. */
  blockMs: bigint | null;
}

/** Blocks to measure over: some minutes on a fast chain. */
const measuredBlocks = 128n;
const freshMs = { local: 200, elsewhere: 1_000 };
/** A client that asks for a deployment's progress waits no longer than this for a node. */
const timeoutMs = 2_000;

const readings = new WeakMap<Nodes, { at: number; reading: Promise<ChainPace> }>();

/** The chain's newest block and block time, at most a second old; null while no endpoint answers in time. */
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

/** Block 0 may be years older than block 1, so nothing is measured from it. */
function meanBlockMs(first: Block, last: Block): bigint | null {
  const blocks = last.number - first.number;
  if (blocks <= 0n || first.number === 0n || first.timestamp === undefined || last.timestamp === undefined) return null;
  const elapsed = last.timestamp - first.timestamp;
  return elapsed > 0n ? (elapsed * 1_000n) / blocks : null;
}
