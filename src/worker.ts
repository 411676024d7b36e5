// The background process: drives deployments to their end, fetches metadata, pins uploads and checks stored content.

import { watchStatus } from "./accounts/status-gauges.ts";
import { runRecognition } from "./collections/run-recognition.ts";
import { compactHeapLater } from "./compact-heap.ts";
import { loadConfig } from "./config.ts";
import { prepareDatabase } from "./db/prepare.ts";
import { runChecks, watchContent } from "./ipfs/run-checks.ts";
import { runPinning } from "./ipfs/run-pinning.ts";
import { runMetadata } from "./metadata/run-metadata.ts";
import { endWithParent, onStop } from "./process-life.ts";
import { runRelay } from "./relay/run-relay.ts";
import { createServices } from "./services.ts";
import { createMetrics, watchPool } from "./telemetry/metrics.ts";
import { serveMetrics } from "./telemetry/serve-metrics.ts";
import { startTracing } from "./telemetry/tracing.ts";

const config = loadConfig();
const endTracing = await startTracing(config, "worker");
const services = createServices(config, "worker");
await prepareDatabase(config.databaseUrl, services.log);

if (config.metrics.port > 0) {
  const metrics = createMetrics("worker");
  watchPool(metrics, services.pool);
  watchStatus(metrics, services);
  watchContent(metrics, services);
  await serveMetrics(metrics, config.metrics);
}
const stop = new AbortController();
const loops = [runRelay, runMetadata, runPinning, runChecks, runRecognition].map((run) => run(services, stop.signal));
for (const loop of loops) {
  loop.catch((error) => {
    services.log.fatal({ err: error }, "a loop ended; restarting the process");
    process.exit(1);
  });
}
endWithParent();
onStop(
  async () => {
    stop.abort();
    await Promise.allSettled(loops);
    await services.content.close();
    await services.pool.end();
    await endTracing();
  },
  services.log,
  config.shutdown,
);
services.log.info({ chains: services.chains.map((chain) => chain.name) }, "working");
process.send?.({ type: "ready" });
compactHeapLater();
