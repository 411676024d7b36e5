import { useEffect, useMemo, useState } from "preact/hooks";
import { type Eligibility, readEligibility } from "./eligibility.ts";
import type { Sale } from "./sale.ts";

/**
 * Whether a wallet is on the presale list; null while that is not known or not asked.
 *
 * @param wallet null before one is connected. @param anew a change repeats the request: the presale's start, or a mint.
 */
export function useEligibility(
  { chain, address, deployedHere, presaleStart }: Sale,
  wallet: string | null,
  anew: { open: boolean; done: boolean },
): Eligibility | null {
  const [list, setList] = useState<Eligibility | null>(null);
  const { open, done } = anew;
  const wanted = presaleStart !== null;
  const target = useMemo(
    () => ({ chain: chain.name, collection: address, deployedHere }),
    [chain.name, address, deployedHere],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked anew when the presale opens, and after a mint uses it up
  useEffect(() => {
    if (!wanted || wallet === null) return;
    let ended = false;
    let timer: ReturnType<typeof setTimeout>;
    const ask = () =>
      void readEligibility(target, wallet).then(
        (answer) => !ended && setList(answer),
        () => {
          // When a presale opens, all visitors ask at once, and the rate limit slows those behind one router down.
          if (!ended) timer = setTimeout(ask, 3_000 + Math.random() * 12_000);
        },
      );
    // The server's state of the contract may be two seconds old.
    timer = setTimeout(ask, done ? 3_000 : 0);
    return () => {
      clearTimeout(timer);
      ended = true;
    };
  }, [target, wallet, wanted, open, done]);
  return list;
}
