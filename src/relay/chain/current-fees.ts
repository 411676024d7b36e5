import type { Chain } from "../../chains.ts";
import type { RelayContext } from "./context.ts";
import { type Fees, freshFees } from "./fees.ts";
import { askMarket } from "./market.ts";

/** How long fees that were read are what a request is likely to pay; each simulation reads them anew. */
const cachedMs = 15_000;
/** A request does not wait longer for them: what it reserves is raised before it is signed. */
const timeoutMs = 1_000;
/** Of the operator's cap, where no fee was ever read. */
const guessedShare = 20n;

interface Known {
  maxFeeWei: bigint;
  dataByteWei: bigint;
  readAt: number;
}

/** By chain as this process knows it; a chain's object is one process's. */
const known = new WeakMap<Chain, Known>();
const reading = new WeakMap<Chain, Promise<void>>();

/** Remembers what a transaction is signed with at the moment. */
export function recordFees(chain: Chain, { maxFeePerGas }: Fees, dataByteWei: bigint): void {
  known.set(chain, { maxFeeWei: maxFeePerGas, dataByteWei, readAt: performance.now() });
}

/** The fee per gas that a transaction is likely to be signed with now, as far as this process knows; within the cap. */
export function likelyFee(chain: Chain): bigint {
  const { maxFeeWei } = chain.relay;
  const likely = known.get(chain)?.maxFeeWei ?? maxFeeWei / guessedShare;
  return likely < maxFeeWei ? likely : maxFeeWei;
}

/** What a byte costs on the chain below, as far as this process knows. */
export function likelyDataPrice(chain: Chain): bigint {
  return known.get(chain)?.dataByteWei ?? 0n;
}

/** Sees to it that `likelyFee` is not old, where the node tells in time; it never fails. */
export async function refreshFees(services: RelayContext, chain: Chain): Promise<void> {
  const { readAt = Number.NEGATIVE_INFINITY } = known.get(chain) ?? {};
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
    // A node that is away is met again by the simulation, which says so.
    .catch(() => undefined)
    .finally(() => reading.delete(chain));
  reading.set(chain, asked);
  return asked;
}
