import { Gauge, Histogram } from "prom-client";
import type { Address } from "viem";
import type { Chain } from "../../chains.ts";
import type { Metrics } from "../../telemetry/metrics.ts";
import type { Intent } from "./intents.ts";

/** Stages of a transaction: in a block; deep enough for an address to be returned; beyond any reorganisation. */
const stages = ["mined", "confirmed", "finalized"] as const;
type Stage = (typeof stages)[number];

interface Balance {
  chain: string;
  wallet: Address;
  balanceWei: bigint;
}

/** What an endpoint reported last. */
interface EndpointFigure {
  chain: string;
  /** Its index in `RPC_URL_<CHAIN>`, from 0, as in logs. */
  endpoint: string;
  /** Never the path or the query, which may hold a key. */
  host: string;
  /** Null: no usable answer, or one for another chain. */
  head: bigint | null;
  seconds: number;
}

/** What one process saw of nodes, wallets and transactions, cached for Prometheus: a scrape makes no RPC call. */
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

  /** Records that an intent reached a further stage. @param before its previous state. */
  recordStage({ name }: Chain, before: string, { state, created_at, updated_at }: Intent): void {
    const stage = stages.find((one) => one === state);
    if (stage && state !== before) this.#onStage?.(name, stage, (updated_at.getTime() - created_at.getTime()) / 1_000);
  }

  /** From now on each stage is reported, with the seconds since the request was accepted. */
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

/**
 * Exports what the worker sees of nodes, wallets and transactions.
 *
 * @param chains that this installation deploys on.
 */
export function watchRelay({ registry }: Metrics, figures: RelayFigures, chains: readonly string[]): void {
  const endpoint = ["chain", "endpoint", "host"] as const;
  new Gauge({
    name: "mintyard_endpoint_up",
    help: "1 while this RPC endpoint answers for its chain, as the worker asks it.",
    labelNames: endpoint,
    registers: [registry],
    collect() {
      for (const { head, chain, endpoint, host } of figures.endpoints)
        this.set({ chain, endpoint, host }, head === null ? 0 : 1);
    },
  });
  new Gauge({
    name: "mintyard_endpoint_head_block",
    help: "Newest block that this RPC endpoint reported; none while it does not answer.",
    labelNames: endpoint,
    registers: [registry],
    collect() {
      this.reset();
      for (const { head, chain, endpoint, host } of figures.endpoints)
        if (head !== null) this.set({ chain, endpoint, host }, Number(head));
    },
  });
  new Gauge({
    name: "mintyard_endpoint_answer_seconds",
    help: "How long its last answer took, or until it was given up.",
    labelNames: endpoint,
    registers: [registry],
    collect() {
      for (const { seconds, chain, endpoint, host } of figures.endpoints) this.set({ chain, endpoint, host }, seconds);
    },
  });
  new Gauge({
    name: "mintyard_wallet_balance",
    help: "What a paying wallet has, in the chain's coin.",
    labelNames: ["chain", "wallet"],
    registers: [registry],
    collect() {
      for (const { chain, wallet, balanceWei } of figures.balances)
        this.set({ chain, wallet }, Number(balanceWei) / 1e18);
    },
  });
  const durations = new Histogram({
    name: "mintyard_transaction_seconds",
    help: "From a deployment's or update's acceptance until it was mined, confirmed and final.",
    labelNames: ["chain", "stage"],
    buckets: [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600],
    registers: [registry],
  });
  // Starts at 0: Prometheus sees no increase in a series that begins with its first transaction.
  for (const chain of chains) for (const stage of stages) durations.zero({ chain, stage });
  figures.onStage((chain, stage, seconds) => durations.observe({ chain, stage }, seconds));
}
