import { useQuery } from "@tanstack/react-query";
import { ask } from "../api.ts";

export interface ChainStatus {
  chain: string;
  chainId: number;
  indexedBlock: string | null;
  lagSeconds: number | null;
  lagBlocks: number | null;
  wallets: { wallet: string; hasRole: boolean | null; externalTransactions: number }[];
  walletStates: { wallet: string; state: string; nextNonce: string; open: number }[];
  queue: Record<string, number>;
  oldestWaitingSeconds: number | null;
  troubles: string[];
}

/** The part of `/status` that the page shows. */
export interface Status {
  database: string;
  clock: { aheadSeconds: number | null; wrong: boolean };
  signer: { kind: string | null; trouble: string | null };
  replicas: { replica: string; trouble: string | null }[];
  chains: ChainStatus[];
  metadata: Record<string, number>;
  pins: Record<string, number>;
  /** Absent from a process of an earlier version. */
  storage?: { full: string[]; store: string };
}

export function useStatus() {
  return useQuery({ queryKey: ["status"], queryFn: () => ask<Status>("/status"), refetchInterval: 5_000 });
}

/** A chain's requests that wait for their outcome; confirmed ones are not counted, as they only wait for finality. */
export function waitingOn({ queue }: ChainStatus): number {
  return Object.entries(queue).reduce((sum, [state, items]) => sum + (state === "confirmed" ? 0 : items), 0);
}

export function countsOf(counts: Readonly<Record<string, number>>): string {
  const some = Object.entries(counts).filter(([, items]) => items > 0);
  return some.length === 0 ? "nothing waits" : some.map(([state, items]) => `${items} ${state}`).join(", ");
}
