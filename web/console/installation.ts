import { queryOptions, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { localWallet, type Wallet, watchWallets } from "../shared/wallets.ts";
import { ask } from "./api.ts";

export interface InstalledChain {
  name: string;
  id: number;
  /** Symbol of its native coin. */
  coin: string;
  local: boolean;
  explorer_tx_url: string | null;
  deploys: boolean;
}

export interface Installation {
  chains: InstalledChain[];
  sign_up: boolean;
  public_url: string;
  limits: { file_bytes: number; directory_files: number };
}

export const installationQuery = queryOptions({
  queryKey: ["installation"],
  queryFn: () => ask<Installation>("/console/installation.json"),
  staleTime: Number.POSITIVE_INFINITY,
});

/** Undefined until the server has answered. */
export function useInstallation(): Installation | undefined {
  return useQuery(installationQuery).data;
}

/** Symbol of a chain's native coin, by the chain's name. */
export function useCoin(chain: string): string {
  return useInstallation()?.chains.find(({ name }) => name === chain)?.coin ?? "";
}

/** This browser's wallets, and the test wallet if there is a local chain. */
export function useWallets(): Wallet[] {
  const installation = useInstallation();
  const [found, setFound] = useState<Wallet[]>([]);
  useEffect(
    () => watchWallets((wallet) => setFound((known) => [...known.filter(({ id }) => id !== wallet.id), wallet])),
    [],
  );
  const locals = installation?.chains.filter(({ local }) => local) ?? [];
  return [...found, ...locals.map(localWallet)];
}
