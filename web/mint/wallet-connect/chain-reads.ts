const timeoutMs = 20_000;

/**
 * Reads from a public endpoint instead of the wallet's own node: over WalletConnect, a wallet answers no reads.
 *
 * @param chainId an endpoint of another chain is not used.
 */
export function chainReads(rpcUrl: string, chainId: number) {
  let checked: Promise<void> | null = null;

  async function ask(method: string, params: readonly unknown[]): Promise<unknown> {
    const response = await fetch(rpcUrl, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    const { result, error } = (await response.json()) as { result?: unknown; error?: { message: string } };
    if (error) throw Object.assign(new Error(error.message), error);
    return result;
  }

  async function check(): Promise<void> {
    const id = Number(await ask("eth_chainId", []));
    if (id !== chainId) throw new Error(`the endpoint for reads is of chain ${id}; the operator has to change it`);
  }

  /** @throws the node's error, including a revert; TypeError when the endpoint cannot be reached. */
  return async (method: string, params: readonly unknown[]): Promise<unknown> => {
    checked ??= check();
    try {
      await checked;
    } catch (error) {
      checked = null;
      throw error;
    }
    return await ask(method, params);
  };
}
