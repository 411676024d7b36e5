import { Counter, Gauge } from "prom-client";
import type { Services } from "../services.ts";
import { gaugesOf, type Metrics, readCached } from "../telemetry/metrics.ts";
import { isDeployable } from "../transactions/chain/context.ts";
import { readStatus, type ServiceStatus } from "./read-status.ts";

const keptMs = 5_000;
/** Reasons that are reported even while nothing waits for them, because an alert queries them. */
const heldFor = { fee: 0, budget: 0, balance: 0, wallet: 0 };
const allStates = ["open", "paused_funds", "reconcile", "halted"];

/** The content of `/status` as gauges. Every process reports the same values: aggregate them with `max`. */
export function watchStatus(metrics: Metrics, services: Services): void {
  const { registry } = metrics;
  const read = readCached(keptMs, () => readStatus(services));
  const gauge = gaugesOf(metrics, read);
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
  const signs = services.chains.some(isDeployable);
  gauge("mintyard_signer_up", "1 while what signs for the workers' wallets does.", ["kind"], (set, { signer }) => {
    // Without a signing worker nothing is signed either.
    const up = signer.kind === null ? !signs : signer.trouble === null;
    set(up ? 1 : 0, { kind: signer.kind ?? "none" });
  });
  perChain("mintyard_index_block", "Newest block in the index.", ({ indexedBlock }) =>
    indexedBlock === null ? null : Number(indexedBlock),
  );
  perChain("mintyard_index_lag_blocks", "Blocks between the index and its node.", ({ lagBlocks }) => lagBlocks);
  perChain(
    "mintyard_index_lag_seconds",
    "Age of the newest block in the index; 0 while its node has no newer one.",
    ({ lagSeconds }) => lagSeconds,
  );
  perChain(
    "mintyard_index_checked_seconds",
    "Since the indexer looked last.",
    ({ checkedSecondsAgo }) => checkedSecondsAgo,
  );
  perChain(
    "mintyard_node_seen_seconds",
    "Since a node of the chain reported its head to the indexer last.",
    ({ nodeSeenSecondsAgo }) => nodeSeenSecondsAgo,
  );
  perChain(
    "mintyard_index_stands_seconds",
    "Since the index took in a block last; 0 while it has its node's head.",
    ({ standsSeconds }) => standsSeconds,
  );
  gauge(
    "mintyard_index_waits_for",
    "1 for what an index that stands waits for: processor, nodes, database, or its indexer.",
    ["chain", "cause"],
    (set, { chains }) => {
      for (const { chain, waitsFor } of chains) if (waitsFor) set(1, { chain, cause: waitsFor });
    },
  );
  perChain(
    "mintyard_index_sampled_blocks",
    "Final blocks of the index that were compared with another endpoint's logs.",
    ({ sampled }) => sampled.blocks,
  );
  perChain(
    "mintyard_index_missing_logs",
    "Logs that the index lacks, in the blocks that were compared.",
    ({ sampled }) => sampled.missingLogs,
  );
  perChain(
    "mintyard_oldest_waiting_seconds",
    "Age of the oldest deployment without a signature.",
    ({ oldestWaitingSeconds }) => oldestWaitingSeconds ?? 0,
  );
  gauge(
    "mintyard_requests_held",
    "Requests that wait for something, by reason: fee, budget, balance, wallet and so on.",
    ["chain", "reason"],
    (set, { chains }) => {
      for (const { chain, held } of chains)
        for (const [reason, items] of Object.entries({ ...heldFor, ...held })) set(items, { chain, reason });
    },
  );
  perChain(
    "mintyard_troubles",
    "Things that are not as they should be; see /status.",
    ({ troubles }) => troubles.length,
  );
  perChain("mintyard_nodes_agree", "0 while endpoints of a chain name different final blocks.", ({ troubles }) =>
    troubles.includes("nodes_disagree") ? 0 : 1,
  );
  gauge(
    "mintyard_index_left_out",
    "Reported by the chain's logs and not listed: tokens of withheld ranges, a contract's blocks with too much, unreadable logs.",
    ["chain", "kind"],
    (set, { chains }) => {
      for (const { chain, leftOut } of chains) {
        set(leftOut.withheldTokens, { chain, kind: "withheld_tokens" });
        set(leftOut.suspendedBlocks, { chain, kind: "suspended_blocks" });
        set(leftOut.undecodableLogs, { chain, kind: "undecodable_logs" });
      }
    },
  );
  gauge(
    "mintyard_wallet_state",
    "1 for the state that a paying wallet is in.",
    ["chain", "wallet", "state"],
    (set, { chains }) => {
      for (const { chain, walletStates } of chains)
        for (const { wallet, state: now } of walletStates)
          for (const state of allStates) set(state === now ? 1 : 0, { chain, wallet, state });
    },
  );
  gauge(
    "mintyard_wallet_open_transactions",
    "Transactions of a paying wallet that are not mined.",
    ["chain", "wallet"],
    (set, { chains }) => {
      for (const { chain, walletStates } of chains)
        for (const { wallet, open } of walletStates) set(open, { chain, wallet });
    },
  );
  gauge(
    "mintyard_wallet_has_role",
    "1 while a configured paying wallet has the factory's relayer role; absent while no worker has read it lately.",
    ["chain", "wallet"],
    (set, { chains }) => {
      for (const { chain, wallets } of chains)
        for (const { wallet, hasRole } of wallets) if (hasRole !== null) set(hasRole ? 1 : 0, { chain, wallet });
    },
  );
  const external = new Counter({
    name: "mintyard_wallet_external_transactions_total",
    help: "Transactions that another installation sent from a configured paying wallet.",
    labelNames: ["chain", "wallet"],
    registers: [registry],
    async collect() {
      const { chains } = await read();
      external.reset();
      for (const { chain, wallets } of chains)
        for (const { wallet, externalTransactions } of wallets) external.inc({ chain, wallet }, externalTransactions);
    },
  });
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
    (set, { database, pins }) => {
      if (database !== "ok") return;
      for (const state of ["queued", "failed"]) set(pins[state] ?? 0, { state });
    },
  );
  gauge("mintyard_replica_in_use", "1 while reads go to this standby.", ["replica"], (set, { replicas }) => {
    for (const { replica, trouble } of replicas) set(trouble === null ? 1 : 0, { replica });
  });
  gauge("mintyard_replica_lag_seconds", "Age of what this standby lacks.", ["replica"], (set, { replicas }) => {
    for (const { replica, lagSeconds } of replicas) if (lagSeconds !== null) set(lagSeconds, { replica });
  });
  const diskGauge = gaugesOf(metrics, () => services.disk.status());
  diskGauge("mintyard_disk_free_bytes", "Free on the file system of the data folder.", [], (set, { freeBytes }) =>
    set(freeBytes),
  );
  const { disk } = services.config;
  // An unset limit has no series, so that nothing is compared with it.
  const mark = (name: string, help: string, bytes: number) => {
    if (bytes > 0) new Gauge({ name, help, registers: [registry] }).set(bytes);
  };
  mark("mintyard_disk_min_free_bytes", "Below this much free nothing more is kept.", disk.minFreeBytes);
  mark("mintyard_database_max_bytes", "From this size of the database on nothing more is kept.", disk.databaseBytes);
  mark("mintyard_free_accounts_max_bytes", "What free accounts may keep together.", disk.freeAccountsBytes);
  diskGauge("mintyard_disk_size_bytes", "Size of the file system of the data folder.", [], (set, { sizeBytes }) =>
    set(sizeBytes),
  );
  diskGauge(
    "mintyard_storage_full",
    "1 while a mark is passed from which on nothing more is kept.",
    ["place"],
    (set, { full }) => {
      for (const place of ["data_folder", "database", "free_accounts"] as const)
        set(full.includes(place) ? 1 : 0, { place });
    },
  );
}
