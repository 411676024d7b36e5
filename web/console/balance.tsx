import { useQuery } from "@tanstack/react-query";
import { formatEther, formatFee } from "../shared/amounts.ts";
import { ask } from "./api.ts";
import { useCoin } from "./installation.ts";

/** The balance of an address of this installation: one of its collections, or a paying wallet. */
export function useBalance(chain: string, address: string) {
  return useQuery({
    queryKey: ["balance", chain, address.toLowerCase()],
    queryFn: async () => BigInt((await ask<{ wei: string }>(`/console/balance/${chain}/${address}`)).wei),
    refetchInterval: 15_000,
  });
}

/** An amount in the chain's native coin, with the exact wei on hover. */
export function Amount({ wei, chain, rounded = false }: { wei: bigint; chain: string; rounded?: boolean }) {
  const coin = useCoin(chain);
  return (
    <span title={`${wei} wei`}>
      {rounded ? formatFee(wei) : formatEther(wei)} {coin}
    </span>
  );
}
