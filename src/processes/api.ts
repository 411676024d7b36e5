// The HTTP process: GraphQL, /v0, the IPFS gateway. Stateless; run as many as there are cores.
import { watchService } from "../accounts/service-gauges.ts";
import { watchStatus } from "../accounts/status-gauges.ts";
import { ensureDevAccount } from "../auth/keys.ts";
import { compactHeap } from "../compact-heap.ts";
import { loadConfig, requireOwnPepper, secretsOf } from "../config/config.ts";
import { createDatabase, createPool, hasApiRole } from "../db/pool/pool.ts";
import { warnOfTrustedGateway } from "../http/client-address.ts";
import { Drain } from "../http/drain.ts";
import { requireUsableStore } from "../ipfs/require-usable-store.ts";
import { watchStore } from "../ipfs/store-metrics.ts";
import { sweepRegularly } from "../ipfs/sweep-parts.ts";
import { createHttpServer } from "../server/http-server.ts";
import { createLogger } from "../telemetry/log.ts";
import { createMetrics, watchPool, watchReplicas } from "../telemetry/metrics.ts";
import { startTracing } from "../telemetry/tracing.ts";
import { createRequestLog } from "./create-request-log.ts";
import { createServices } from "./create-services.ts";
import { endOnFailure, endWithParent, makeDataFolder, onStop, tuneGc } from "./lifecycle.ts";
import { prepareDatabase } from "./prepare-database.ts";

endOnFailure("api");
const config = loadConfig();
requireOwnPepper(config);
makeDataFolder(config.dataDir);
await prepareDatabase(
  config.databaseUrl,
  createLogger("api", config.logLevel, secretsOf(config)),
  config.databaseFailover,
);
const tenants = config.rowSecurity && (await hasApiRole(config.databaseUrls["api"] ?? config.databaseUrl));
const endTracing = await startTracing(config, "api");
const services = createServices(config, "api", { tenants, replicas: true, withoutSigner: true });
if (config.signing.signer || config.signing.web3)
  services.log.warn(
    "SIGNER_URL and WEB3SIGNER_URL are the worker's: this process has nothing signed; take them from it",
  );
if (!tenants) services.log.warn("row-level security is off: this login may not use the role mintyard_api");
if (config.devApiKey) {
  const pool = createPool(config.databaseUrl, "setup", 1);
  await ensureDevAccount(createDatabase(pool), config.keyPepper, config.devApiKey);
  await pool.end();
}

await requireUsableStore(services.content, services.log);
const metrics = createMetrics("api");
watchStore(metrics, services.content.cars);
watchPool(metrics, services.pool);
watchReplicas(metrics, services.index.pool);
watchStatus(metrics, services);
watchService(metrics, services);
const drain = new Drain();
const requestLog = createRequestLog(services);
const server = createHttpServer(services, { drain, metrics, requestLog });
await compactHeap();
tuneGc();
await new Promise<void>((ready, failed) => server.once("error", failed).listen(config.port, config.host, ready));
services.log.info({ port: config.port }, "listening");
await warnOfTrustedGateway(config.trustedProxies, services.log);
const endSweeping = sweepRegularly(services.content, services.log, services.content.cars.sweepEveryMs);
endWithParent();
onStop(
  async () => {
    endSweeping();
    await drain.close(server, config.shutdown);
    await services.auth.usage.flush();
    await requestLog?.flush();
    await services.demand.flush();
    await services.linkedPictures.close();
    services.thumbnails.close();
    await services.content.close();
    await services.feed.close();
    services.reads.close();
    await Promise.all([services.index.pool.end(), services.pool.end()]);
    await endTracing();
  },
  services.log,
  config.shutdown,
);
process.send?.({ type: "ready" });
