import { useQuery } from "@tanstack/react-query";
import { formatEther, formatFee } from "../shared/amounts.ts";
import { ask } from "./api.ts";
import { useCoin } from "./installation.ts";

/** What an address of this installation holds: a collection of it, or a wallet that pays. */
export function useBalance(chain: string, address: string) {
  return useQuery({
    queryKey: ["balance", chain, address.toLowerCase()],
    queryFn: async () => BigInt((await ask<{ wei: string }>(`/console/balance/${chain}/${address}`)).wei),
    refetchInterval: 15_000,
  });
}

/** An amount in the chain's coin, with the exact wei on hover. */
export function Amount({ wei, chain, rounded = false }: { wei: bigint; chain: string; rounded?: boolean }) {
  const coin = useCoin(chain);
  return (
    <span title={`${wei} wei`}>
      {rounded ? formatFee(wei) : formatEther(wei)} {coin}
    </span>
  );
}
