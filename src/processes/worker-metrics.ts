import { watchService } from "../accounts/service-gauges.ts";
import { watchStatus } from "../accounts/status-gauges.ts";
import { type AnalystWatch, watchAnalystSessions } from "../db/admin/watch-analysts.ts";
import { watchWebhooks } from "../events/webhook-figures.ts";
import { watchContent } from "../ipfs/run-checks.ts";
import { watchStore } from "../ipfs/store-metrics.ts";
import type { Services } from "../services.ts";
import { createMetrics, type Metrics, watchPool } from "../telemetry/metrics.ts";
import { isDeployable } from "../transactions/chain/context.ts";
import { watchRelay } from "../transactions/store/figures.ts";

export function workerMetrics(services: Services, analysts: AnalystWatch): Metrics {
  const metrics = createMetrics("worker");
  watchPool(metrics, services.pool);
  watchStatus(metrics, services);
  watchService(metrics, services);
  watchRelay(
    metrics,
    services.relay.figures,
    services.chains.filter(isDeployable).map(({ name }) => name),
  );
  watchContent(metrics, services);
  watchStore(metrics, services.content.cars);
  watchWebhooks(metrics, services);
  watchAnalystSessions(metrics, analysts);
  return metrics;
}
