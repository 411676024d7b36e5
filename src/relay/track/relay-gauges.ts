import { Gauge, Histogram } from "prom-client";
import type { Metrics } from "../../telemetry/metrics.ts";
import { stages as allStages, type RelayFigures } from "../store/relay-figures.ts";

/**
 * What the worker sees of nodes, wallets and transactions.
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
  const stages = new Histogram({
    name: "mintyard_transaction_seconds",
    help: "From a deployment's or update's acceptance until it was mined, confirmed and final.",
    labelNames: ["chain", "stage"],
    buckets: [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600],
    registers: [registry],
  });
  // From 0 on: of a series that begins with its first transaction Prometheus sees no increase.
  for (const chain of chains) for (const stage of allStages) stages.zero({ chain, stage });
  figures.onStage((chain, stage, seconds) => stages.observe({ chain, stage }, seconds));
}
