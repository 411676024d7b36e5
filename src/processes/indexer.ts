// The index of one chain: an RPC gateway and a Ponder process, published in the views of schema `nft`.
//   node src/processes/indexer.ts --chain polygon
import { parseArgs } from "node:util";
import { compactHeapLater, keepHeapSmall } from "../compact-heap.ts";
import { loadConfig } from "../config/config.ts";
import { preparePonder } from "../indexing/ponder-process.ts";
import type { RpcGateway } from "../indexing/rpc-gateway.ts";
import { runIndexer } from "../indexing/run-indexer.ts";
import { ConfigError } from "../setting-words.ts";
import { createLogger } from "../telemetry/log.ts";
import { createMetrics, watchFaults, watchRefusals } from "../telemetry/metrics.ts";
import { serveMetrics } from "../telemetry/serve-metrics.ts";
import { endOnFailure, endWithParent, logEnd, onStop } from "./lifecycle.ts";
import { prepareDatabase } from "./prepare-database.ts";

endOnFailure("indexer");
const { values } = parseArgs({ options: { chain: { type: "string" } } });
if (!values.chain) throw new ConfigError("--chain <name> is missing");
const config = loadConfig();
preparePonder();
const log = createLogger("indexer", config.logLevel);
await prepareDatabase(config.databaseUrl, log, config.databaseFailover);

const { chain } = values;
let gateway: RpcGateway | null = null;
if (config.metrics.port > 0) {
  const metrics = createMetrics("indexer");
  watchRefusals(metrics, chain, () => gateway?.refusals ?? new Map());
  watchFaults(metrics, chain, () => gateway?.health() ?? []);
  await serveMetrics(metrics, config.metrics);
}
const stop = new AbortController();
const running = runIndexer(config, chain, stop.signal, log, {
  onReady: ({ chainId, schema, block }) => {
    log.info({ chain, chainId, schema, block: String(block) }, "indexer ready");
    process.send?.({ type: "ready" });
    compactHeapLater(keepHeapSmall);
  },
  onGateway: (opened) => {
    gateway = opened;
  },
});
endWithParent();
onStop(
  async () => {
    stop.abort();
    await running;
  },
  log,
  config.shutdown,
);
running.catch((error) => {
  logEnd(log, error);
  process.exit(1);
});
