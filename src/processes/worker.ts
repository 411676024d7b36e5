// The background process: drives deployments to their end, fetches metadata, pins uploads and checks stored content.

import { runLogClearing } from "../accounts/clear-request-log.ts";
import { runSampling } from "../accounts/take-samples.ts";
import { runClearing } from "../collections/clear-expired.ts";
import { runDetection } from "../collections/detect-deployments.ts";
import { compactHeapLater } from "../compact-heap.ts";
import { loadConfig } from "../config/config.ts";
import { AnalystWatch } from "../db/admin/watch-analysts.ts";
import { connectionOptions } from "../db/pool/pool.ts";
import { runWebhooks } from "../events/run-webhooks.ts";
import { requireUsableStore } from "../ipfs/require-usable-store.ts";
import { runChecks } from "../ipfs/run-checks.ts";
import { runPinning } from "../ipfs/run-pinning.ts";
import { runMetadata } from "../metadata/schedule/run-metadata.ts";
import { runRendering } from "../nfts/render-again.ts";
import { wakeRounds } from "../outbox/wake-rounds.ts";
import { Rounds } from "../rounds.ts";
import { ConfigError } from "../setting-words.ts";
import { noSigner } from "../signing/in-process.ts";
import { serveMetrics } from "../telemetry/serve-metrics.ts";
import { startTracing } from "../telemetry/tracing.ts";
import { runRelay } from "../transactions/track/run-relay.ts";
import { watchEndpoints } from "../transactions/track/watch.ts";
import { createServices } from "./create-services.ts";
import { endOnFailure, endWithParent, logEnd, makeDataFolder, onStop } from "./lifecycle.ts";
import { prepareDatabase } from "./prepare-database.ts";
import { workerMetrics } from "./worker-metrics.ts";

endOnFailure("worker");
const config = loadConfig();
makeDataFolder(config.dataDir);
const endTracing = await startTracing(config, "worker");
const services = createServices(config, "worker");
await prepareDatabase(config.databaseUrl, services.log, config.databaseFailover);
await requireUsableStore(services.content, services.log);

// At the start, not when somebody is waiting for a signature.
for (const chain of services.chains)
  if (services.relay.signing.kind === "in_process" && chain.relay.wallets.length > 0)
    throw new ConfigError(noSigner(chain));

const analysts = new AnalystWatch(config.databaseUrl, config.analystTransactionSeconds, services.log);
if (config.metrics.port > 0) {
  await serveMetrics(workerMetrics(services, analysts), config.metrics);
}
const stop = new AbortController();
const rounds = new Rounds(stop.signal);
const listener = connectionOptions(config.databaseUrls["worker"] ?? config.databaseUrl, "worker-listener");
const loops = [
  wakeRounds(services, listener, rounds),
  ...[
    runRelay,
    runMetadata,
    runPinning,
    runChecks,
    runDetection,
    runClearing,
    runLogClearing,
    runWebhooks,
    runRendering,
    runSampling,
  ].map((run) => run(services, rounds)),
  analysts.run(rounds),
  // Without this loop, endpoints that are not needed at the moment would not be asked at all.
  ...(config.metrics.port > 0 ? [watchEndpoints(services, rounds)] : []),
];
for (const loop of loops) {
  loop.catch((error) => {
    logEnd(services.log, error);
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
