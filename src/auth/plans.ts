import type { PlanTable, Tier } from "../db/tables/accounts.ts";
import type { Caller } from "./caller.ts";
import type { Plan } from "./plan.ts";
import { perDay, type RateBudget } from "./rate-limit.ts";

const none = { readsPerSecond: null, uploadsPerMinute: null, deploysPerMinute: null, requestsPerMonth: null };
const unlimited = {
  transactionsPerDay: null,
  transactionsPerMonth: null,
  deployRequestsPerDay: null,
  uploadRequestsPerDay: null,
};
const paidGas = { deployGas: 12_000_000n, updateGas: 12_000_000n, tokenGas: 1_000_000n };
const uncounted = { mintsIncluded: null, maxMints: null, contractsIncluded: null, maxContracts: null };

/**
 * The content of `service.plan` until the operator changes it; a test compares the two. Used for callers without a key,
 * which only tests and commands have.
 */
export const defaultPlans: Record<Tier, Plan> = {
  free: {
    tier: "free",
    readsPerSecond: 10,
    uploadsPerMinute: 120,
    deploysPerMinute: 60,
    requestsPerMonth: 25_000n,
    mintsIncluded: 100,
    maxMints: 100,
    contractsIncluded: 5,
    maxContracts: 5,
    maxSupply: 5_000n,
    paidChains: false,
    windowDays: 90,
    storageBytes: 1_073_741_824n,
    uploadsAtOnce: 4,
    maxAwaitedDeployments: 50,
    maxAllowlists: 100,
    allowlistBytes: 16_777_216n,
    transactionsPerDay: 20,
    transactionsPerMonth: 100,
    deployGas: 3_000_000n,
    updateGas: 6_000_000n,
    tokenGas: 500_000n,
    deployRequestsPerDay: 300,
    uploadRequestsPerDay: 20_000,
    maxWebhooks: 5,
    webhookTriesPerDay: 10_000,
    wholeChainWebhooks: false,
  },
  growth: {
    tier: "growth",
    readsPerSecond: 50,
    uploadsPerMinute: 600,
    deploysPerMinute: 300,
    requestsPerMonth: 150_000n,
    ...uncounted,
    mintsIncluded: 500,
    contractsIncluded: 15,
    maxSupply: null,
    paidChains: true,
    windowDays: 90,
    storageBytes: 26_843_545_600n,
    uploadsAtOnce: 8,
    maxAwaitedDeployments: 500,
    maxAllowlists: 1_000,
    allowlistBytes: 268_435_456n,
    ...unlimited,
    ...paidGas,
    maxWebhooks: 50,
    webhookTriesPerDay: 200_000,
    wholeChainWebhooks: true,
  },
  scale: {
    tier: "scale",
    readsPerSecond: 200,
    uploadsPerMinute: 3_000,
    deploysPerMinute: 1_200,
    requestsPerMonth: 1_000_000n,
    ...uncounted,
    maxSupply: null,
    paidChains: true,
    windowDays: 90,
    storageBytes: 268_435_456_000n,
    uploadsAtOnce: 32,
    maxAwaitedDeployments: 5_000,
    maxAllowlists: 10_000,
    allowlistBytes: 2_147_483_648n,
    ...unlimited,
    ...paidGas,
    maxWebhooks: 200,
    webhookTriesPerDay: 2_000_000,
    wholeChainWebhooks: true,
  },
  enterprise: {
    tier: "enterprise",
    ...none,
    ...uncounted,
    maxSupply: null,
    paidChains: true,
    windowDays: null,
    storageBytes: null,
    uploadsAtOnce: null,
    maxAwaitedDeployments: null,
    maxAllowlists: null,
    allowlistBytes: null,
    ...unlimited,
    ...{ deployGas: null, updateGas: null, tokenGas: null },
    maxWebhooks: null,
    webhookTriesPerDay: null,
    wholeChainWebhooks: true,
  },
};

export function planOf(caller: Caller): Plan {
  return caller.plan ?? defaultPlans[caller.tier];
}

/** A row of `service.plan` as `to_jsonb` writes it: numbers of every width are JSON numbers. */
export function planOfRow(row: { [K in keyof PlanTable]: PlanTable[K] | number | null }): Plan {
  const count = (value: unknown) => (value === null ? null : Number(value));
  const whole = (value: unknown) => (value === null ? null : BigInt(value as string | number | bigint));
  return {
    tier: row.tier as Tier,
    readsPerSecond: count(row.reads_per_second),
    uploadsPerMinute: count(row.uploads_per_minute),
    deploysPerMinute: count(row.deploys_per_minute),
    requestsPerMonth: whole(row.requests_per_month),
    mintsIncluded: count(row.mints_included),
    maxMints: count(row.max_mints),
    contractsIncluded: count(row.contracts_included),
    maxContracts: count(row.max_contracts),
    maxSupply: whole(row.max_supply),
    paidChains: row.paid_chains === true,
    windowDays: count(row.window_days),
    storageBytes: whole(row.storage_bytes),
    uploadsAtOnce: count(row.uploads_at_once),
    maxAwaitedDeployments: count(row.max_awaited_deployments),
    maxAllowlists: count(row.max_allowlists),
    allowlistBytes: whole(row.allowlist_bytes),
    transactionsPerDay: count(row.transactions_per_day),
    transactionsPerMonth: count(row.transactions_per_month),
    deployGas: whole(row.deploy_gas),
    updateGas: whole(row.update_gas),
    tokenGas: whole(row.token_gas),
    deployRequestsPerDay: count(row.deploy_requests_per_day),
    uploadRequestsPerDay: count(row.upload_requests_per_day),
    maxWebhooks: count(row.max_webhooks),
    webhookTriesPerDay: count(row.webhook_tries_per_day),
    wholeChainWebhooks: row.whole_chain_webhooks === true,
  };
}

/** The buckets of an account that requests take from. */
export type Bucket = "read" | "upload" | "deploy";

/** A plan's rate for a bucket; null: no limit. */
export function rateOf(plan: Plan, bucket: Bucket): RateBudget | null {
  const perMinute = bucket === "upload" ? plan.uploadsPerMinute : plan.deploysPerMinute;
  const [amount, seconds] = bucket === "read" ? [plan.readsPerSecond, 1] : [perMinute, 60];
  if (amount === null) return null;
  // Two seconds' worth of reads at once, because a page requests all its parts at the same time.
  return { perSecond: amount / seconds, burst: bucket === "read" ? amount * 2 : amount };
}

/** A plan's daily budget for a bucket. Reads are counted per month instead. */
export function dayOf(plan: Plan, bucket: Bucket): RateBudget | null {
  const most = { read: null, upload: plan.uploadRequestsPerDay, deploy: plan.deployRequestsPerDay }[bucket];
  return most === null ? null : perDay(most);
}
