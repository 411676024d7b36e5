/** The part of a wallet's provider that is used here. */
interface Provider {
  request(call: { method: string; params?: readonly unknown[] }): Promise<unknown>;
}

const pollMs = 1_000;
/** A transaction that its node has not known for so long was dropped. */
const droppedMs = 60_000;

/**
 * Waits until a wallet's transaction is in a block, or never will be, or the caller stops waiting.
 *
 * @param sent its `nonce` is the sender's transaction count before it was sent. While the wallet is on another network
 * than `chainId`, its answers are ignored.
 * @param every milliseconds between two looks.
 * @param signal stops the waiting, but nothing on the chain.
 * @returns the receipt; `left`: the signal came; `replaced`: the wallet used the nonce for another transaction;
 * `dropped`: the network no longer knows the transaction.
 */
export async function followTransaction<Receipt extends object>(
  provider: Provider,
  sent: { hash: string; from: string; nonce: bigint; chainId: number },
  every = pollMs,
  signal?: AbortSignal,
): Promise<Receipt | "replaced" | "dropped" | "left"> {
  // A node that does not answer (undefined) may do so in a second. Only null means an unknown transaction.
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
      // The wallet may have had earlier transactions pending.
      own = BigInt(known.nonce);
      continue;
    }
    if (known === undefined || Number(await ask<string>("eth_chainId")) !== chainId) continue;
    lost += every;
    const used = BigInt((await ask<string>("eth_getTransactionCount", from, "latest")) ?? own);
    // The receipt may have arrived between the two requests.
    if (used > own && lost > 3 * every) return "replaced";
    if (lost > (droppedMs / pollMs) * every) return "dropped";
  }
  return "left";
}
