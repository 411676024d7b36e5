/** Metrics that an ordinary process does not export, and where they are: each is seen there by the test that is named. */
export const onlyWhere: Record<string, string> = {
  mintyard_replica_in_use: "with DATABASE_REPLICA_URLS (test/watching/alerts-fire.long.test.ts)",
  mintyard_replica_lag_seconds: "with DATABASE_REPLICA_URLS (test/watching/alerts-fire.long.test.ts)",
  mintyard_replica_reads_total: "with DATABASE_REPLICA_URLS (test/watching/alerts-fire.long.test.ts)",
  mintyard_replication_lag_bytes: "with a standby (test/watching/alerts-fire.long.test.ts)",
  mintyard_wallet_has_role: "in a worker that has read the factory (test/transactions/roles.long.test.ts)",
  mintyard_wallet_external_transactions_total:
    "in a worker that has found some (test/transactions/two-installations.long.test.ts)",
  mintyard_store_up: "with IPFS_STORE (test/ipfs/s3-store.long.test.ts)",
  mintyard_intents: "while something waits (test/http/metrics.test.ts)",
  // Nothing may have been collected as garbage yet.
  nodejs_gc_duration_seconds_sum: "once there was garbage",
  nodejs_gc_duration_seconds_count: "once there was garbage",
};
