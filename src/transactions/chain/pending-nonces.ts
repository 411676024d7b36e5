import { type Address, type Hash, type Hex, keccak256, recoverTransactionAddress } from "viem";
import { z } from "zod";
import type { Chain } from "../../chains.ts";
import { NodeFault } from "../../rpc/endpoint.ts";
import type { Node } from "../../rpc/nodes.ts";
import { calls, parseQuantity } from "../../rpc/reads.ts";
import type { RelayContext } from "./context.ts";
import { rawOf } from "./find-nonces.ts";

/** A wallet's transaction in an endpoint's mempool; its hash proves its bytes. */
export interface PoolTransaction {
  nonce: bigint;
  hash: Hash;
  to: Address | null;
  data: Hex;
  value: bigint;
  raw: Hex;
  gas: bigint;
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}

interface PendingNonces {
  /** The wallet's transaction count in the newest block: the highest answer. */
  mined: bigint;
  /** The first nonce used in no block and in no endpoint's mempool. */
  next: bigint;
  /** Mempool transactions by nonce; most endpoints show none. */
  transactions: ReadonlyMap<bigint, PoolTransaction>;
}

/**
 * Finds the nonces that a wallet has in use, in blocks and in answering endpoints' mempools; the highest counts win.
 *
 * @returns null while an endpoint contradicts itself, or reports more transactions than one of our wallets ever has
 *   under way: after one answer that is too high, the gap would be filled with empty transactions.
 * @throws NodeFault when no endpoint answers.
 */
export async function readPendingNonces(
  services: RelayContext,
  chain: Chain,
  wallet: Address,
): Promise<PendingNonces | null> {
  const nodes = await services.relay.nodes(chain).all();
  const answers = await Promise.all(nodes.map((node) => askNode(node, wallet)));
  const answered = answers.filter((answer) => answer !== "away");
  if (answered.length === 0) throw new NodeFault(`no endpoint of ${chain.name} reports what waits in its mempool`);
  const counts = answered.filter((answer) => answer !== "contradiction");
  if (counts.length < answered.length) return null;
  const mined = highest(counts.map((count) => count.mined));
  const transactions = new Map(counts.flatMap(({ pool }) => pool.map((waiting) => [waiting.nonce, waiting] as const)));
  // A nonce far ahead is not ours: a wallet never has so many transactions under way.
  const most = mined + 2n * BigInt(chain.relay.maxPending) + 16n;
  for (const nonce of transactions.keys()) if (nonce >= most) transactions.delete(nonce);
  const next = highest([
    mined,
    ...counts.map(({ pending }) => pending),
    ...[...transactions.keys()].map((n) => n + 1n),
  ]);
  return next > most ? null : { mined, next, transactions };
}

interface MempoolAnswer {
  mined: bigint;
  pending: bigint;
  pool: PoolTransaction[];
}

/**
 * The counts are read twice, in two requests, because an answer may be spoilt as a whole. A node that refuses the
 * pending count both times has no mempool to report: it only knows its blocks.
 */
async function askNode(node: Node, wallet: Address): Promise<MempoolAnswer | "away" | "contradiction"> {
  try {
    const [first, second, pool] = await Promise.all([
      readCounts(node, wallet),
      readCounts(node, wallet),
      readPool(node, wallet),
    ]);
    return first.mined === second.mined && first.pending === second.pending ? { ...first, pool } : "contradiction";
  } catch (error) {
    if (error instanceof NodeFault) return "away";
    throw error;
  }
}

async function readCounts(node: Node, wallet: Address): Promise<{ mined: bigint; pending: bigint }> {
  const [latest, pending] = await node.ask([calls.count(wallet, "latest"), calls.count(wallet, "pending")]);
  const mined = parseQuantity(latest, "a count");
  return { mined, pending: pending && "error" in pending ? mined : parseQuantity(pending, "a count") };
}

/** Most third-party endpoints do not show their mempool; then the counts have to do. */
async function readPool(node: Node, wallet: Address): Promise<PoolTransaction[]> {
  try {
    const [own, all] = await node
      .ask([{ method: "txpool_contentFrom", params: [wallet] }])
      .then(async ([answer]) =>
        answer && "result" in answer ? [answer.result, null] : [null, await readWholePool(node)],
      );
    const listed = own ? perNonce.parse(own) : ofWallet(perSender.parse(all), wallet);
    const found = await Promise.all(listed.map((waiting) => prove(waiting, wallet)));
    return found.filter((waiting) => waiting !== null);
  } catch (error) {
    if (error instanceof NodeFault || error instanceof z.ZodError) return [];
    throw error;
  }
}

async function readWholePool(node: Node): Promise<unknown> {
  const [answer] = await node.ask([{ method: "txpool_content", params: [] }]);
  return answer && "result" in answer ? answer.result : null;
}

const quantity = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,64}$/)
  .transform((text) => BigInt(text));
const hex = z
  .string()
  .regex(/^0x[0-9a-fA-F]*$/)
  .transform((text) => text.toLowerCase() as Hex);
/** EIP-1559, or legacy with a chain id if it only has a gas price: we sign nothing else. */
const waiting = z.object({
  chainId: quantity.nullish(),
  nonce: quantity,
  hash: hex,
  to: hex.nullish(),
  input: hex,
  value: quantity,
  gas: quantity,
  gasPrice: quantity.nullish(),
  maxFeePerGas: quantity.nullish(),
  maxPriorityFeePerGas: quantity.nullish(),
  r: quantity,
  s: quantity,
  yParity: quantity.optional(),
  v: quantity.optional(),
});
type Waiting = z.infer<typeof waiting>;

const byNonce = z.record(z.string(), z.unknown()).transform((items) =>
  Object.values(items).flatMap((item) => {
    const parsed = waiting.safeParse(item);
    return parsed.success ? [parsed.data] : [];
  }),
);
const perNonce = z
  .object({ pending: byNonce.optional(), queued: byNonce.optional() })
  .transform(({ pending = [], queued = [] }) => [...pending, ...queued]);
const senders = z.record(z.string(), z.unknown());
const perSender = z.object({ pending: senders.optional(), queued: senders.optional() });

function ofWallet(pool: z.infer<typeof perSender>, wallet: Address): Waiting[] {
  return [pool.pending, pool.queued].flatMap((part) =>
    Object.entries(part ?? {}).flatMap(([sender, items]) =>
      sender.toLowerCase() === wallet.toLowerCase() ? (byNonce.safeParse(items).data ?? []) : [],
    ),
  );
}

/** @returns null if the wallet did not sign it, or its hash does not match. */
async function prove(item: Waiting, wallet: Address): Promise<PoolTransaction | null> {
  const { nonce, hash, input: data, value, gas, r, s, gasPrice, maxFeePerGas, maxPriorityFeePerGas } = item;
  const to = (item.to ?? null) as Address | null;
  const v = item.v ?? item.yParity ?? 0n;
  const price = maxFeePerGas ?? gasPrice ?? 0n;
  const fees = { maxFeePerGas: price, maxPriorityFeePerGas: maxPriorityFeePerGas ?? price };
  // A legacy transaction has its chain id in v (EIP-155).
  const isLegacy = maxFeePerGas == null;
  if (!isLegacy && item.chainId == null) return null;
  const raw = rawOf(Number(isLegacy ? (v - 35n) / 2n : item.chainId), {
    ...{ type: isLegacy ? "legacy" : "eip1559", nonce: Number(nonce), to, input: data, value, gas },
    ...{ gasPrice: price, ...fees, r: word(r), s: word(s), v, yParity: Number(item.yParity ?? v) },
  });
  if (!raw || keccak256(raw) !== hash) return null;
  const sender = await recoverTransactionAddress({ serializedTransaction: raw });
  if (sender.toLowerCase() !== wallet.toLowerCase()) return null;
  return { nonce, hash, to, data, value, raw, gas, ...fees };
}

function word(value: bigint): Hex {
  return `0x${value.toString(16).padStart(64, "0")}`;
}

function highest(values: readonly bigint[]): bigint {
  return values.toSorted((a, b) => Number(b - a))[0] ?? 0n;
}

/**
 * Whether a wallet may start at nonce `count`: every endpoint that answers reports this transaction count twice. The
 * wallet's counter goes on from there without asking again, and a count that is one too high would leave a gap behind
 * which nothing is ever mined.
 */
export async function isFirstNonce(
  services: RelayContext,
  chain: Chain,
  wallet: Address,
  count: bigint,
): Promise<boolean> {
  const nodes = await services.relay.nodes(chain).all();
  const answers = await Promise.all(nodes.flatMap((node) => [countOf(node, wallet), countOf(node, wallet)]));
  const counts = answers.filter((answer) => answer !== null);
  return counts.length > 0 && counts.every((answer) => answer === count);
}

/** Called twice instead of batching two calls: an answer may be spoilt as a whole. */
async function countOf(node: Node, wallet: Address): Promise<bigint | null> {
  try {
    const [answer] = await node.ask([calls.count(wallet, "latest")]);
    return parseQuantity(answer, "a count");
  } catch (error) {
    if (error instanceof NodeFault) return null;
    throw error;
  }
}
