import { type Address, encodeFunctionData, type Hex, keccak256, parseAbi, size } from "viem";
import { z } from "zod";
import type { Chain } from "../../chains.ts";
import { NodeFault, type RpcCall, type RpcResult } from "../../rpc/endpoint.ts";
import type { Node } from "../../rpc/nodes.ts";
import { type Block, calls, parse, parseBlock, quantity } from "../../rpc/reads.ts";
import type { RelayContext } from "./context.ts";
import { type Fees, freshFees, type Market } from "./fees.ts";

const feeHistory = z.object({
  baseFeePerGas: z.array(quantity).min(1),
  reward: z.array(z.array(quantity)).nullish(),
});

/** Contracts that report the L1 data fee: `GasPriceOracle` on chains of the OP stack, and Scroll's own. */
const opOracle: Address = "0x420000000000000000000000000000000000000f";
const scrollOracle: Address = "0x5300000000000000000000000000000000000002";
const oracles: Readonly<Record<number, Address>> = { 534352: scrollOracle, 534351: scrollOracle };
const oracleAbi = parseAbi(["function getL1Fee(bytes data) view returns (uint256)"]);

/** Chains whose newest block has no base fee: their nodes take no EIP-1559 transactions. */
const withoutBaseFee = new WeakSet<Chain>();

/** Whether a chain takes only legacy transactions, according to the last answer of its nodes. */
export function isLegacy(chain: Chain): boolean {
  return withoutBaseFee.has(chain);
}

/** Incompressible bytes: chains of the OP stack charge for the compressed size. */
const sampleBytes = 1_024;
const sampleData = encodeFunctionData({ abi: oracleAbi, functionName: "getL1Fee", args: [noise(sampleBytes)] });

/** Whether a chain has such a contract, and until when that is believed: it was the answer of one node. */
const known = new WeakMap<Chain, { isThere: boolean; until: number }>();
const knownForMs = 3_600_000;

function hasOracle(chain: Chain): boolean | null {
  const word = known.get(chain);
  return word && performance.now() < word.until ? word.isThere : null;
}

function rememberOracle(chain: Chain, isThere: boolean): void {
  if (hasOracle(chain) !== isThere) known.set(chain, { isThere, until: performance.now() + knownForMs });
}

/** The size of a transaction without its data: nonce, fees, addresses and signature, with a margin. */
const envelopeBytes = 200n;

/** The L1 data price moves until the transaction is mined, unbounded by its signature: this multiple is reserved. */
export const dataRoom = 2n;

/** The maximum L1 data fee of a transaction, in wei, at today's price; 0 on most chains. */
export function dataFee({ dataByteWei }: Pick<Market, "dataByteWei">, data: Hex): bigint {
  return dataByteWei * (BigInt(size(data)) + envelopeBytes);
}

/**
 * Asks one node for all data that fees depend on, and for `more` in the same request.
 *
 * @returns the market with the newest block, and the answers to `more` in their order.
 * @throws NodeFault when the node gives no usable answer.
 */
export async function askMarket(
  node: Pick<Node, "ask">,
  chain: Chain,
  more: readonly RpcCall[] = [],
): Promise<{ market: Market & { block: Block }; answers: RpcResult[] }> {
  const at = oracles[chain.id] ?? opOracle;
  const oracle = hasOracle(chain) !== false ? [calls.call(at, sampleData, "latest")] : [];
  const [head, history, tip, ...rest] = await node.ask([
    calls.block("latest"),
    { method: "eth_feeHistory", params: ["0xa", "latest", [20]] },
    { method: "eth_maxPriorityFeePerGas", params: [] },
    ...oracle,
    ...more,
  ]);
  const dataByteWei = oracle.length === 0 ? 0n : await readDataPrice(node, chain, at, rest[0]);
  const block = parseBlock(head);
  const past = history && "result" in history ? feeHistory.safeParse(history.result).data : undefined;
  if (block.baseFeePerGas === undefined && !past?.baseFeePerGas.at(-1)) {
    withoutBaseFee.add(chain);
    const [price] = await node.ask([{ method: "eth_gasPrice", params: [] }]);
    const market = { block, baseFee: 0n, tips: [], suggestedTip: parse(quantity, price, "a gas price"), dataByteWei };
    return { market, answers: rest.slice(oracle.length) };
  }
  withoutBaseFee.delete(chain);
  return { market: readMarket(block, history, tip, dataByteWei), answers: rest.slice(oracle.length) };
}

/** If the node has no fee history, the base fee is taken from its newest block. */
function readMarket(
  block: Block,
  history: RpcResult | undefined,
  tip: RpcResult | undefined,
  dataByteWei: bigint,
): Market & { block: Block } {
  const suggested = tip && "result" in tip ? quantity.safeParse(tip.result).data : undefined;
  const suggestedTip = suggested ?? null;
  if (history && "error" in history && block.baseFeePerGas !== undefined)
    // The next block's base fee is at most an eighth higher.
    return { block, baseFee: (block.baseFeePerGas * 9n + 7n) / 8n, tips: [], suggestedTip, dataByteWei };
  const { baseFeePerGas, reward } = parse(feeHistory, history, "a fee history");
  // There is one more entry than blocks: the last one is for the next block.
  const tips = (reward ?? []).flatMap((of) => of.slice(0, 1));
  return { block, baseFee: baseFeePerGas.at(-1) ?? 0n, tips, suggestedTip, dataByteWei };
}

/**
 * The price per byte of data, rounded up; 0 on a chain without such a contract (some nodes then answer with an error).
 *
 * @throws NodeFault when the node does not answer: a transaction must not be sent at an unknown price.
 */
async function readDataPrice(
  node: Pick<Node, "ask">,
  chain: Chain,
  at: Address,
  answer: RpcResult | undefined,
): Promise<bigint> {
  if (answer && "result" in answer && /^0x[0-9a-f]{64}$/i.test(String(answer.result))) {
    rememberOracle(chain, true);
    return (BigInt(answer.result as Hex) + BigInt(sampleBytes) - 1n) / BigInt(sampleBytes);
  }
  const [code] = hasOracle(chain) ? [] : await node.ask([calls.code(at, "latest")]);
  if (!code || !("result" in code) || code.result !== "0x") throw new NodeFault("no price of data");
  rememberOracle(chain, false);
  return 0n;
}

function noise(bytes: number): Hex {
  let last: Hex = "0x";
  let text = "0x";
  while (text.length < 2 + 2 * bytes) {
    last = keccak256(last);
    text += last.slice(2);
  }
  return text as Hex;
}

/** How long fees are used as a request's likely fees; each simulation reads them again. */
const cachedMs = 15_000;
/** A request waits no longer than this for them: its reservation is raised before it is signed. */
const timeoutMs = 1_000;
/** Divides the operator's cap, for a guess where no fee was ever read. */
const guessedShare = 20n;

interface KnownFees {
  maxFeeWei: bigint;
  dataByteWei: bigint;
  readAt: number;
}

/** By this process's object of the chain. */
const knownFees = new WeakMap<Chain, KnownFees>();
const reading = new WeakMap<Chain, Promise<void>>();

/** Remembers the fees that transactions are signed with now. */
export function recordFees(chain: Chain, { maxFeePerGas }: Fees, dataByteWei: bigint): void {
  knownFees.set(chain, { maxFeeWei: maxFeePerGas, dataByteWei, readAt: performance.now() });
}

/** The fee per gas that a transaction signed now would probably have, as far as this process knows; within the cap. */
export function likelyFee(chain: Chain): bigint {
  const { maxFeeWei } = chain.relay;
  const likely = knownFees.get(chain)?.maxFeeWei ?? maxFeeWei / guessedShare;
  return likely < maxFeeWei ? likely : maxFeeWei;
}

/** The L1 data fee per byte, as far as this process knows. */
export function likelyDataPrice(chain: Chain): bigint {
  return knownFees.get(chain)?.dataByteWei ?? 0n;
}

/** Refreshes the fees of `likelyFee` if they are old and the node answers in time; never fails. */
export async function refreshFees(services: RelayContext, chain: Chain): Promise<void> {
  const { readAt = Number.NEGATIVE_INFINITY } = knownFees.get(chain) ?? {};
  if (performance.now() - readAt < cachedMs) return;
  const under = reading.get(chain) ?? readFees(services, chain);
  let timer: NodeJS.Timeout | undefined;
  const enough = new Promise<void>((done) => {
    timer = setTimeout(done, timeoutMs);
  });
  await Promise.race([under, enough]);
  clearTimeout(timer);
}

function readFees(services: RelayContext, chain: Chain): Promise<void> {
  const asked = services.relay
    .nodes(chain)
    .first(async (node) => {
      const { market } = await askMarket(node, chain);
      recordFees(chain, freshFees(chain, market), market.dataByteWei);
    })
    // The simulation will report a node that is away.
    .catch(() => undefined)
    .finally(() => reading.delete(chain));
  reading.set(chain, asked);
  return asked;
}
