import type { Address } from "viem";
import type { Chain } from "../../chains.ts";
import type { Intent } from "./intents.ts";

/** How far a transaction has come: in a block, deep enough for an address to be returned, and beyond any reorganisation. */
export const stages = ["mined", "confirmed", "finalized"] as const;
export type Stage = (typeof stages)[number];

interface Balance {
  chain: string;
  wallet: Address;
  balanceWei: bigint;
}

/** What one endpoint reported when it was asked last. */
export interface EndpointFigure {
  chain: string;
  /** Its place in `RPC_URL_<CHAIN>`, from 0, as in logs. */
  endpoint: string;
  /** Never the path or the query, which may hold a key. */
  host: string;
  /** Null: no usable answer, or one for another chain. */
  head: bigint | null;
  seconds: number;
}

/** What one process saw of nodes, wallets and transactions, kept for whoever scrapes it: a scrape asks no node. */
export class RelayFigures {
  readonly #balances = new Map<string, Balance>();
  readonly #endpoints = new Map<string, EndpointFigure>();
  #onStage: ((chain: string, stage: Stage, seconds: number) => void) | null = null;

  recordBalance({ name }: Chain, wallet: Address, balanceWei: bigint): void {
    this.#balances.set(`${name} ${wallet}`, { chain: name, wallet, balanceWei });
  }

  recordEndpoint(figure: EndpointFigure): void {
    this.#endpoints.set(`${figure.chain} ${figure.endpoint}`, figure);
  }

  /** Counts an intent that came to a further stage. @param before what it was until now. */
  recordStage({ name }: Chain, before: string, { state, created_at, updated_at }: Intent): void {
    const stage = stages.find((one) => one === state);
    if (stage && state !== before) this.#onStage?.(name, stage, (updated_at.getTime() - created_at.getTime()) / 1_000);
  }

  /** From now on each stage is recorded, with the seconds since the request was accepted. */
  onStage(tell: (chain: string, stage: Stage, seconds: number) => void): void {
    this.#onStage = tell;
  }

  get balances(): readonly Balance[] {
    return [...this.#balances.values()];
  }

  get endpoints(): readonly EndpointFigure[] {
    return [...this.#endpoints.values()];
  }
}
