/** Series in promtool's notation (`1+2x3` is 1 3 5 7), one value a minute, and when to look. */
export interface AlertCase {
  /** While these come, the alert fires. */
  firing: Record<string, string>;
  /** While these come, it does not. */
  healthy: Record<string, string>;
  /** Minutes until it fires; 20 where nothing is said. */
  minutes?: number;
}

const steady = (series: string, bad: number, good: number): AlertCase => ({
  firing: { [series]: `${bad}x120` },
  healthy: { [series]: `${good}x120` },
});
/** What was so for an hour, and then is not. */
const fell = (series: string, from: number, to: number): AlertCase => ({
  firing: { [series]: `${from}x20 ${to}x60` },
  healthy: { [series]: `${from}x120` },
  minutes: 35,
});
const wallet = `{chain="polygon",wallet="0xaa",process="worker"}`;
const walletState = (state: string) => `mintyard_wallet_state{chain="polygon",wallet="0xaa",state="${state}"}`;
const queue = (name: string) => `mintyard_queue_oldest_seconds{queue="${name}",chain="polygon"}`;
const requests = (series: string) => `mintyard_http_request_duration_seconds_${series}`;
const mined = (le: string) => `mintyard_transaction_seconds_bucket{chain="polygon",stage="mined",le="${le}"}`;
const head = (place: number) => `mintyard_endpoint_head_block{chain="polygon",endpoint="${place}",host="h${place}"}`;

/** One for each alert of deploy/prometheus/alerts.yml. */
export const alertCases: Record<string, AlertCase> = {
  MintyardProcessDown: steady(`up{job="mintyard-worker",instance="a:1"}`, 0, 1),
  MintyardNotWatched: { firing: { up: "1x120" }, healthy: { mintyard_database_up: "1x120" } },
  MintyardServerErrors: {
    firing: { [requests(`count{status="500"}`)]: "0+10x120", [requests(`count{status="200"}`)]: "0+90x120" },
    healthy: { [requests(`count{status="500"}`)]: "0+1x120", [requests(`count{status="200"}`)]: "0+99x120" },
  },
  MintyardSlowRequests: {
    firing: {
      [requests(`bucket{method="GET",route="/v0/nfts",le="2.5"}`)]: "0+50x120",
      [requests(`bucket{method="GET",route="/v0/nfts",le="5"}`)]: "0+100x120",
      [requests(`bucket{method="GET",route="/v0/nfts",le="+Inf"}`)]: "0+100x120",
    },
    healthy: {
      [requests(`bucket{method="GET",route="/v0/nfts",le="0.5"}`)]: "0+99x120",
      [requests(`bucket{method="GET",route="/v0/nfts",le="5"}`)]: "0+100x120",
      [requests(`bucket{method="GET",route="/v0/nfts",le="+Inf"}`)]: "0+100x120",
    },
  },
  MintyardHeavyReadsWaiting: steady(`mintyard_heavy_reads{state="waiting"}`, 80, 3),
  MintyardDatabaseDown: steady(`mintyard_database_up{process="api"}`, 0, 1),
  MintyardConnectionsUsedUp: steady(
    `mintyard_db_pool_connections{state="waiting",process="api",instance="a:1"}`,
    ...([4, 0] as const),
  ),
  MintyardRowSecurityOff: {
    firing: { 'mintyard_row_security_unbound_relations{process="api"}': "3x120" },
    // A worker works for all accounts.
    healthy: {
      'mintyard_row_security_unbound_relations{process="api"}': "0x120",
      'mintyard_row_security_unbound_relations{process="worker"}': "10x120",
    },
  },
  MintyardReplicaOut: steady(`mintyard_replica_in_use{replica="1"}`, 0, 1),
  MintyardStandbyLost: fell("mintyard_replication_standbys", 2, 1),
  MintyardReplicationNotSynchronous: fell("mintyard_replication_synchronous", 1, 0),
  MintyardReplicationLag: steady(`mintyard_replication_lag_bytes{standby="a"}`, 900_000_000, 2_000),
  MintyardLogNotArchived: steady("mintyard_log_archive_failing", 1, 0),
  MintyardBackupOld: steady("mintyard_backup_age_seconds", 100_000, 4_000),
  MintyardNotificationQueueFull: steady("mintyard_notification_queue_usage", 0.6, 0.01),
  MintyardDiskFilling: {
    firing: {
      'mintyard_disk_free_bytes{instance="a:1"}': "5x120",
      'mintyard_disk_size_bytes{instance="a:1"}': "100x120",
    },
    healthy: {
      'mintyard_disk_free_bytes{instance="a:1"}': "50x120",
      'mintyard_disk_size_bytes{instance="a:1"}': "100x120",
      'mintyard_disk_min_free_bytes{instance="a:1"}': "5x120",
    },
  },
  MintyardDatabaseFilling: {
    firing: { mintyard_database_bytes: "90x120", mintyard_database_max_bytes: "100x120" },
    healthy: { mintyard_database_bytes: "50x120", mintyard_database_max_bytes: "100x120" },
  },
  MintyardStorageFull: steady(`mintyard_storage_full{place="data_folder"}`, 1, 0),
  MintyardContentDamaged: steady("mintyard_damaged_content", 1, 0),
  MintyardStoreAway: steady("mintyard_store_up", 0, 1),
  MintyardSignerDown: steady(`mintyard_signer_up{kind="signer"}`, 0, 1),
  MintyardWalletFundsLow: {
    // 300 coins that are gone in ten hours.
    firing: { [`mintyard_wallet_balance${wallet}`]: "300-0.5x300" },
    healthy: { [`mintyard_wallet_balance${wallet}`]: "300x300" },
    minutes: 60,
  },
  MintyardWalletOutOfFunds: steady(walletState("paused_funds"), 1, 0),
  MintyardFeesTooHigh: steady(`mintyard_requests_held{chain="polygon",reason="fee",process="worker"}`, 2, 0),
  MintyardWalletHalted: steady(walletState("halted"), 1, 0),
  MintyardWalletWithoutRole: steady(`mintyard_wallet_has_role${wallet}`, 0, 1),
  MintyardExternalTransactions: {
    firing: { [`mintyard_wallet_external_transactions_total${wallet}`]: "0x5 1x100" },
    healthy: { [`mintyard_wallet_external_transactions_total${wallet}`]: "1x120" },
  },
  MintyardEndpointDown: steady(`mintyard_endpoint_up{chain="polygon",endpoint="1",host="h1"}`, 0, 1),
  MintyardEndpointBehind: {
    firing: { [head(0)]: "1000+30x120", [head(1)]: "1000+1x120" },
    healthy: { [head(0)]: "1000+30x120", [head(1)]: "998+30x120" },
  },
  MintyardNodesUnreachable: steady(`mintyard_node_seen_seconds{chain="polygon"}`, 90, 1),
  MintyardNodesDisagree: steady(`mintyard_nodes_agree{chain="polygon"}`, 0, 1),
  MintyardIndexStalled: steady(`mintyard_index_checked_seconds{chain="polygon"}`, 500, 1),
  MintyardIndexBehind: steady(`mintyard_index_lag_blocks{chain="polygon"}`, 500, 2),
  MintyardIndexIncomplete: steady(`mintyard_index_missing_logs{chain="polygon"}`, 3, 0),
  MintyardAnswersRefused: {
    firing: { 'mintyard_rpc_refused_answers_total{chain="polygon",reason="a"}': "0+100x120" },
    healthy: { 'mintyard_rpc_refused_answers_total{chain="polygon",reason="a"}': "0+1x120" },
  },
  MintyardDeploymentsWait: steady(queue("deployment"), 700, 4),
  MintyardConfirmationsSlow: {
    firing: { [mined("300")]: "0+1x120", [mined("600")]: "0+10x120", [mined("+Inf")]: "0+10x120" },
    healthy: { [mined("60")]: "0+10x120", [mined("600")]: "0+10x120", [mined("+Inf")]: "0+10x120" },
  },
  MintyardMetadataWaits: steady(queue("metadata"), 4_000, 10),
  MintyardPinsWait: steady(`mintyard_queue_oldest_seconds{queue="pin"}`, 5_000, 10),
  MintyardPinsFailed: steady(`mintyard_unpinned_uploads{state="failed"}`, 2, 0),
  MintyardUploadsWait: steady(`mintyard_queue_oldest_seconds{queue="upload",instance="a:1"}`, 18, 0),
  MintyardWebhooksWait: steady(`mintyard_queue_oldest_seconds{queue="webhook"}`, 400, 2),
};
