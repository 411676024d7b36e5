import { useEffect, useState } from "preact/hooks";
import { keepClock, readSale, type Sale, SaleUnknown } from "./sale.ts";

const visibleMs = { local: 1_000, elsewhere: 2_000 };
const hiddenMs = 30_000;

export interface SaleState {
  sale: Sale | null;
  /** Why there is nothing newer to show. */
  trouble: string | null;
  /** Whether this will not change. */
  lasting: boolean;
}

/** The sale, refreshed while somebody looks at it. The last state stays while the server is away. */
export function useSale(path: string): SaleState {
  const [state, setState] = useState<SaleState>({ sale: null, trouble: null, lasting: false });
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    let pauseMs = visibleMs.elsewhere;
    let ended = false;
    const look = async () => {
      try {
        const sale = await readSale(path);
        pauseMs = sale.chain.local ? visibleMs.local : visibleMs.elsewhere;
        if (!ended) setState((before) => ({ sale: keepClock(sale, before.sale), trouble: null, lasting: false }));
      } catch (error) {
        const lasting = error instanceof SaleUnknown && error.lasting;
        const trouble = error instanceof SaleUnknown ? error.message : "The server does not answer. Trying again.";
        if (!ended) setState((before) => ({ ...before, trouble, lasting }));
        if (lasting) return;
        // Each request counts towards the rate limit of this address.
        pauseMs = Math.min(pauseMs * 2, hiddenMs);
      }
      if (!ended) timer = setTimeout(look, document.hidden ? hiddenMs : pauseMs);
    };
    const shown = () => {
      if (document.hidden) return;
      clearTimeout(timer);
      void look();
    };
    void look();
    document.addEventListener("visibilitychange", shown);
    return () => {
      ended = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", shown);
    };
  }, [path]);
  return state;
}

/** The chain's clock, Unix milliseconds; a new value each second. */
export function useChainClock(sale: Sale | null): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, []);
  return now + (sale?.clockAhead ?? 0);
}
