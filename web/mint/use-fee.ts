import { useEffect, useState } from "preact/hooks";
import type { Provider, Wallet } from "../shared/wallets.ts";
import { type MintCall, quantity } from "./calls.ts";
import { lacking, type Refusal, refusalOf } from "./refusals.ts";
import { missingFunds } from "./send-mint.ts";

const againMs = 15_000;

/** A node's forecast for a mint that has not been sent. */
export interface Forecast {
  /** The network's current fee in wei; null while that is not known. */
  fee: bigint | null;
  /** Why it would be refused. */
  refusal: Refusal | null;
}

const unknown: Forecast = { fee: null, refusal: null };

/**
 * A forecast by the wallet's own node: a mint's fee, or why it would fail.
 *
 * @param call null when nothing can be minted. @param unit symbol of the native coin.
 */
export function useForecast(provider: Provider | null, call: MintCall | null, unit: string): Forecast {
  return useAnswer(provider && call && JSON.stringify(call), async (text) => {
    const mint = JSON.parse(text) as MintCall;
    if (!provider) return unknown;
    try {
      const [gas, price, balance] = await Promise.all([
        quantity(provider, "eth_estimateGas", [mint]),
        quantity(provider, "eth_gasPrice"),
        quantity(provider, "eth_getBalance", [mint.from, "latest"]),
      ]);
      // Some nodes give an estimate although the wallet could not pay.
      const missing = BigInt(mint.value) + gas * price - balance;
      return { fee: gas * price, refusal: missing > 0n ? lacking(missing, unit) : null };
    } catch (error) {
      const missing = await missingFunds(provider, mint);
      const refusal = missing > 0n ? lacking(missing, unit) : refusalOf(error);
      // The chain's clock knows more about a sale's start, and an unknown error may be the node's own problem.
      return { fee: null, refusal: /not-started|unknown|rejected/.test(refusal.kind) ? null : refusal };
    }
  });
}

/** Gas of a mint in a collection of this service: for the first token, and for each. */
const roughGas = { first: 78_000n, each: 2_000n };

/**
 * The approximate network fee for a mint before a wallet is connected: any wallet of the browser that is on the chain
 * provides the gas price.
 */
export function useRoughFee(
  wallets: readonly Wallet[],
  chainId: number,
  count: number,
  wanted: boolean,
): bigint | null {
  const names = wallets.map(({ id }) => id).join(" ");
  const { fee } = useAnswer(wanted && names ? `${chainId} ${names}` : null, async () => {
    for (const { provider } of wallets) {
      const on = await quantity(provider, "eth_chainId").catch(() => 0n);
      if (Number(on) !== chainId) continue;
      const fee = await quantity(provider, "eth_gasPrice").catch(() => null);
      if (fee !== null) return { fee, refusal: null };
    }
    return unknown;
  });
  return fee === null ? null : fee * (roughGas.first + roughGas.each * BigInt(count));
}

/** Asks at intervals. @param question null: nothing is asked; an answer to an earlier question is dropped. */
function useAnswer(question: string | null, ask: (question: string) => Promise<Forecast>): Forecast {
  const [answer, setAnswer] = useState<{ of: string; is: Forecast } | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the question has what it is about
  useEffect(() => {
    if (question === null) return;
    let ended = false;
    const look = () =>
      void ask(question).then(
        (is) => !ended && setAnswer({ of: question, is }),
        () => !ended && setAnswer(null),
      );
    look();
    const timer = setInterval(look, againMs);
    return () => {
      ended = true;
      clearInterval(timer);
    };
  }, [question]);
  return answer && answer.of === question ? answer.is : unknown;
}
