import { useEffect, useState } from "preact/hooks";
import type { Provider } from "../shared/wallets.ts";
import { type MintCall, quantity } from "./calls.ts";

const againMs = 15_000;

/**
 * What the network would take for a mint now, in wei, as the wallet's own node estimates it. Null while that is not
 * known: a node estimates nothing for a wallet that cannot pay.
 *
 * @param call null where nothing can be minted.
 */
export function useFee(provider: Provider, call: MintCall | null): bigint | null {
  const [fee, setFee] = useState<{ of: string; wei: bigint } | null>(null);
  const text = call === null ? "" : JSON.stringify(call);
  useEffect(() => {
    if (text === "") return;
    let ended = false;
    const ask = async () => {
      const [gas, price] = await Promise.all([
        quantity(provider, "eth_estimateGas", [JSON.parse(text)]),
        quantity(provider, "eth_gasPrice"),
      ]);
      if (!ended) setFee({ of: text, wei: gas * price });
    };
    const askQuietly = () => void ask().catch(() => !ended && setFee(null));
    askQuietly();
    const timer = setInterval(askQuietly, againMs);
    return () => {
      ended = true;
      clearInterval(timer);
    };
  }, [provider, text]);
  return fee?.of === text ? fee.wei : null;
}
