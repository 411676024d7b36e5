/** Of a wallet, what is asked here. */
interface Provider {
  request(call: { method: string; params?: readonly unknown[] }): Promise<unknown>;
}

const pollMs = 1_000;
/** A transaction that its node has forgotten for so long was dropped. */
const droppedMs = 60_000;

/**
 * Waits until a wallet's transaction is in a block, or never will be, or nobody waits any more.
 *
 * @param sent its `nonce` is the count of the sender before it was sent. While the wallet is on another network than `chainId`,
 *   nothing that it says counts.
 * @param every milliseconds between two looks.
 * @param signal ends the waiting, which ends nothing on the chain.
 * @returns the receipt; `left`: the signal came; `replaced`: the wallet used its nonce for another; `dropped`: the network has forgotten it.
 */
export async function followTransaction<Receipt extends object>(
  provider: Provider,
  sent: { hash: string; from: string; nonce: bigint; chainId: number },
  every = pollMs,
  signal?: AbortSignal,
): Promise<Receipt | "replaced" | "dropped" | "left"> {
  // A node that does not answer now (undefined) may do so in a second: it has not said that it forgot what was sent (null).
  const ask = async <T>(method: string, ...params: unknown[]) =>
    (await provider.request({ method, params }).catch(() => undefined)) as T | null | undefined;
  const { hash, from, nonce, chainId } = sent;
  let own = nonce;
  for (let lost = 0; !signal?.aborted; await new Promise((done) => setTimeout(done, every))) {
    const receipt = await ask<Receipt>("eth_getTransactionReceipt", hash);
    if (receipt) return receipt;
    const known = await ask<{ nonce: string }>("eth_getTransactionByHash", hash);
    if (known) {
      lost = 0;
      // Others of this wallet may have waited before it.
      own = BigInt(known.nonce);
      continue;
    }
    if (known === undefined || Number(await ask<string>("eth_chainId")) !== chainId) continue;
    lost += every;
    const used = BigInt((await ask<string>("eth_getTransactionCount", from, "latest")) ?? own);
    // Its receipt may have come between the two questions.
    if (used > own && lost > 3 * every) return "replaced";
    if (lost > (droppedMs / pollMs) * every) return "dropped";
  }
  return "left";
}
