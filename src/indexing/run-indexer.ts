import { setTimeout as wait } from "node:timers/promises";
import { backoffMs } from "../backoff.ts";
import type { Chain } from "../chains.ts";
import type { Config } from "../config/config.ts";
import { ConfigError } from "../setting-words.ts";
import type { Logger } from "../telemetry/log.ts";
import { LogOnce } from "../telemetry/log-once.ts";
import { recordNodeFault } from "./block-journal.ts";
import { checkRollback, readGenesis } from "./final-block.ts";
import { endOrphans, indexIdentity, lockChain, readRebuilds, recordIndexVersion } from "./index-versions.ts";
import { UnusableAnswer, WrongChain } from "./json-rpc.ts";
import { connect, ensureNftViews } from "./nft-views.ts";
import { type RpcGateway, startRpcGateway } from "./rpc-gateway.ts";
import { type IndexerReady, type IndexRun, supervisePonder } from "./supervise-ponder.ts";

const startAttempts = 5;
const retryPause = { firstMs: 500, mostMs: 30_000 };

/**
 * Indexes one chain until the signal aborts: keeps a Ponder process running behind the RPC gateway and publishes its
 * tables in the views of schema `nft`. It waits for nodes that do not answer, at the start too. Outages of the database
 * are waited out once the index was ready for the first time.
 *
 * @param watchers `onReady` is called once, when the index has caught up with the chain; `onGateway` with each new
 *   gateway to the nodes.
 * @throws ConfigError for a chain that cannot be indexed as configured, WrongChain when a node serves another chain id;
 *   before the first readiness also any error that prevents the start.
 */
export async function runIndexer(
  config: Config,
  chainName: string,
  signal: AbortSignal,
  log: Logger,
  { onReady, onGateway }: { onReady: (ready: IndexerReady) => void; onGateway?: (gateway: RpcGateway) => void },
): Promise<void> {
  const chain = findIndexableChain(config, chainName);
  let wasReady = false;
  let failures = 0;
  const logOnce = new LogOnce(log);
  const nowReady = (ready: IndexerReady) => {
    failures = 0;
    if (!wasReady) onReady(ready);
    wasReady = true;
  };
  while (!signal.aborted) {
    try {
      const gateway = await startRpcGateway(
        { ...chain, lagTimeoutMs: chain.local ? 2_000 : 60_000 },
        chain.rpcUrls,
        log,
      );
      onGateway?.(gateway);
      try {
        await runIndexVersion({ config, chain, gateway, signal, log, onReady: nowReady });
      } finally {
        await gateway.close();
      }
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      const reason = error instanceof Error ? error.message : String(error);
      const isAway = error instanceof UnusableAnswer;
      const hopeless = error instanceof WrongChain || (failures >= startAttempts && !isAway);
      if (!wasReady && hopeless) throw error;
      if (isAway) {
        const variable = `RPC_URL_${chain.name.toUpperCase()}`;
        const message = `waiting for an RPC endpoint of ${chain.name}; check ${variable} and its nodes`;
        logOnce.write("warn", "away", { chain: chain.name, reason }, message);
        await tellReaders(config, chain, reason);
      } else log.error({ error: reason, failures }, "indexer stopped; trying again");
      await wait(backoffMs(failures, retryPause), undefined, { signal }).catch(() => undefined);
    }
  }
}

/**
 * Runs one chain's Ponder in one schema until the signal aborts or the chain has to be indexed again.
 *
 * @throws Error when the database or the nodes fail, or Ponder ends for a reason that a restart does not fix.
 */
async function runIndexVersion(run: IndexRun): Promise<void> {
  const { config, chain, gateway, signal } = run;
  await ensureNftViews(config.databaseUrl);
  const client = await connect(config.databaseUrl, `indexer-${chain.name}`);
  try {
    await lockChain(client, chain, signal);
    gateway.heads.start();
    await endOrphans(client, chain);
    const genesisHash = await readGenesis(client, gateway, chain);
    gateway.expectGenesis(genesisHash);
    const identity = await indexIdentity(chain, genesisHash, await readRebuilds(client, chain.id));
    const version = { schema: identity.schema, chainId: chain.id, genesisHash };
    const replaces = await recordIndexVersion(client, version);
    await checkRollback(client, gateway, version);
    await supervisePonder(run, client, version, identity.salt, replaces);
  } finally {
    await client.end();
  }
}

/** Best effort: the database may be away as well. */
async function tellReaders(config: Config, chain: Chain, reason: string): Promise<void> {
  try {
    const client = await connect(config.databaseUrl, `indexer-${chain.name}`);
    try {
      await recordNodeFault(client, chain.id, reason);
    } finally {
      await client.end();
    }
  } catch {
    // Ignored: while the database is away, the next attempt of the caller fails too.
  }
}

function findIndexableChain(config: Config, name: string): Chain {
  const chain = config.chains.find((candidate) => candidate.name === name);
  const variable = name.toUpperCase();
  if (!chain) {
    const known = config.chains.map((candidate) => candidate.name).join(", ") || "none";
    throw new ConfigError(`--chain ${name}: not configured; set RPC_URL_${variable} (configured: ${known})`);
  }
  if (!chain.rpcUrls.some((url) => url.startsWith("http")))
    throw new ConfigError(`RPC_URL_${variable}: the indexer needs at least one http(s) URL`);
  if (chain.id > 2_147_483_647) throw new ConfigError(`CHAIN_ID_${variable}: ids above 2147483647 cannot be indexed`);
  return chain;
}
