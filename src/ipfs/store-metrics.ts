import { Histogram } from "prom-client";
import { exportCounter, gaugesOf, type Metrics } from "../telemetry/metrics.ts";
import type { CarStorage } from "./car-storage.ts";

/** Metrics of requests to the store of `IPFS_STORE`, and of reads from local copies. None for a local folder. */
export function watchStore(metrics: Metrics, store: CarStorage): void {
  const { registry } = metrics;
  const { figures } = store;
  if (!figures) return;
  gaugesOf(metrics, async () => ({ up: (await store.trouble()) === null ? 1 : 0 }))(
    "mintyard_store_up",
    "1 while the store of IPFS_STORE answers this process, 0 while it does not or refuses.",
    [],
    (set, { up }) => set(up),
  );
  const requests = new Histogram({
    name: "mintyard_store_request_duration_seconds",
    help: "Requests to the store of IPFS_STORE, retries included. refused: a right or a setting is wrong; away: no usable answer.",
    labelNames: ["action", "result"],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  });
  figures.onRequest = (action, result, seconds) => requests.observe({ action, result }, seconds);
  exportCounter(registry, {
    name: "mintyard_store_cache_pieces_total",
    help: "Pieces of CARs that were read: hit, of the copies on this machine; miss, from the store.",
    labelNames: ["result"],
    read: () => [
      [{ result: "hit" }, figures.cacheHits],
      [{ result: "miss" }, figures.cacheMisses],
    ],
  });
}
