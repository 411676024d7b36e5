import { Gauge } from "prom-client";
import type { Services } from "../services.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { readStatus, type ServiceStatus } from "./read-status.ts";

/** Scrapers that ask at once, or too often, share one reading. */
const keptMs = 5_000;
const laneStates = ["open", "paused_funds", "paused_fee", "reconcile", "halted"];

/** What `/status` says, as gauges. Every process shows the same: read them with `max`. */
export function watchStatus({ registry }: Metrics, services: Services): void {
  let kept: { until: number; status: Promise<ServiceStatus> } | null = null;
  const read = async () => {
    const now = performance.now();
    if (!kept || kept.until < now) kept = { until: now + keptMs, status: readStatus(services) };
    return await kept.status;
  };
  const gauge = (
    name: string,
    help: string,
    labelNames: string[],
    fill: (set: (value: number, labels?: Record<string, string>) => void, status: ServiceStatus) => void,
  ) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        const status = await read();
        this.reset();
        fill((value, labels = {}) => this.set(labels, value), status);
      },
    });
  const perChain = (name: string, help: string, of: (chain: ServiceStatus["chains"][number]) => number | null) =>
    gauge(name, help, ["chain"], (set, { chains }) => {
      for (const chain of chains) {
        const value = of(chain);
        if (value !== null) set(value, { chain: chain.chain });
      }
    });
  gauge("mintyard_database_up", "1 while the database answers.", [], (set, { database }) =>
    set(database === "ok" ? 1 : 0),
  );
  perChain("mintyard_index_block", "Newest block in the index.", ({ indexedBlock }) =>
    indexedBlock === null ? null : Number(indexedBlock),
  );
  perChain("mintyard_index_lag_blocks", "Blocks between the index and its node.", ({ lagBlocks }) => lagBlocks);
  perChain("mintyard_index_lag_seconds", "Age of the newest block in the index.", ({ lagSeconds }) => lagSeconds);
  perChain(
    "mintyard_index_checked_seconds",
    "Since the indexer looked last.",
    ({ checkedSecondsAgo }) => checkedSecondsAgo,
  );
  perChain(
    "mintyard_oldest_waiting_seconds",
    "Age of the oldest deployment without a signature.",
    ({ oldestWaitingSeconds }) => oldestWaitingSeconds ?? 0,
  );
  perChain(
    "mintyard_troubles",
    "Things that are not as they should be; see /status.",
    ({ troubles }) => troubles.length,
  );
  gauge(
    "mintyard_lane_state",
    "1 for the state that a paying wallet's lane is in.",
    ["chain", "wallet", "state"],
    (set, { chains }) => {
      for (const { chain, lanes } of chains)
        for (const { wallet, state: now } of lanes)
          for (const state of laneStates) set(state === now ? 1 : 0, { chain, wallet, state });
    },
  );
  gauge(
    "mintyard_lane_open_transactions",
    "Transactions of a paying wallet that are not mined.",
    ["chain", "wallet"],
    (set, { chains }) => {
      for (const { chain, lanes } of chains) for (const { wallet, open } of lanes) set(open, { chain, wallet });
    },
  );
  gauge("mintyard_intents", "Deployments and updates that are not final.", ["chain", "state"], (set, { chains }) => {
    for (const { chain, queue } of chains)
      for (const [state, items] of Object.entries(queue)) set(items, { chain, state });
  });
  gauge(
    "mintyard_metadata_tokens",
    "Tokens whose metadata waits or failed; at most 100000.",
    ["status"],
    (set, { metadata }) => {
      for (const [status, items] of Object.entries(metadata)) set(items, { status });
    },
  );
  gauge(
    "mintyard_unpinned_uploads",
    "Uploads that wait for a pin, or failed to get one.",
    ["state"],
    (set, { pins }) => {
      for (const [state, items] of Object.entries(pins)) set(items, { state });
    },
  );
  gauge("mintyard_replica_in_use", "1 while reads go to this standby.", ["replica"], (set, { replicas }) => {
    for (const { replica, trouble } of replicas) set(trouble === null ? 1 : 0, { replica });
  });
  gauge("mintyard_replica_lag_seconds", "Age of what this standby lacks.", ["replica"], (set, { replicas }) => {
    for (const { replica, lagSeconds } of replicas) if (lagSeconds !== null) set(lagSeconds, { replica });
  });
}
