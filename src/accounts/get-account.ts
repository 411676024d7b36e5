import { sql } from "kysely";
import type { Session } from "../auth/caller.ts";
import type { Plan } from "../auth/plan.ts";
import { planOf } from "../auth/plans.ts";
import type { ChargeState } from "../db/tables/accounts.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import { accountDayWei, accountMonthScope, accountMonthWei, accountScope } from "../transactions/submit/budget.ts";

/** An account's activity on one chain; failed and expired requests do not count. */
export interface ChainUsage {
  chain: string;
  contractsTotal: number;
  contractsThisPeriod: number;
  mintsTotal: number;
  mintsThisPeriod: number;
  /** Gas of its transactions of today (UTC), spent or reserved, and the limit, in wei. */
  gasTodayWei: bigint;
  maxGasPerDayWei: bigint;
  gasThisMonthWei: bigint;
  /** Null: only the daily limit applies. */
  maxGasPerMonthWei: bigint | null;
}

/** The caller's account: its identity, limits and usage. A period is a calendar month, UTC. */
export interface Account {
  id: string;
  name: string;
  email: string | null;
  tier: Plan["tier"];
  createdAt: Date;
  plan: Plan;
  periodStart: Date;
  periodEnd: Date;
  /** Data requests in the period; up to a second old. */
  requestsThisPeriod: number;
  /** Bytes of all uploads, the same content counted once. */
  storedBytes: bigint;
  /** Deployments and updates on all chains, except those that ended before they had a nonce. Days are UTC. */
  transactionsToday: number;
  transactionsThisPeriod: number;
  /** Endpoints, and messages sent to them today (UTC). */
  webhooks: number;
  webhookTriesToday: number;
  usage: ChainUsage[];
}

export interface Charge {
  id: string;
  chain: string;
  chainId: number;
  kind: string;
  usdCents: number;
  state: ChargeState;
  createdAt: Date;
}

/** One statement reads the account, the month and the counts per chain. */
export async function getAccount(services: Services, caller: Session): Promise<Account> {
  const scopes = services.chains.flatMap(({ id }) =>
    [accountScope, accountMonthScope].map((scopeOf) => scopeOf(caller.accountId, id)),
  );
  const { rows } = await sql<{
    id: string;
    name: string;
    email: string | null;
    tier: Plan["tier"];
    created_at: Date;
    period_start: Date;
    period_end: Date;
    requests: bigint;
    stored: bigint;
    transactions_today: bigint;
    transactions_now: bigint;
    webhooks: number;
    webhook_tries: number;
    gas: { scope: string; wei: string }[];
    usage: { chain_id: number; contracts: number; contracts_now: number; mints: number; mints_now: number }[];
  }>`
    WITH period AS (
      SELECT date_trunc('month', clock_timestamp(), 'UTC') AS start,
        date_trunc('month', clock_timestamp(), 'UTC') + interval '1 month' AS stop)
    SELECT a.id, a.name, a.email, a.tier, a.created_at, p.start AS period_start, p.stop AS period_end,
      coalesce(u.requests, 0) AS requests, coalesce(s.bytes, 0) AS stored,
      service.transactions_since(a.id, date_trunc('day', clock_timestamp(), 'UTC')) AS transactions_today,
      service.transactions_since(a.id, p.start) AS transactions_now,
      (SELECT count(*)::int FROM service.webhook w WHERE w.account_id = a.id) AS webhooks,
      coalesce((SELECT h.tries FROM service.webhook_use h WHERE h.account_id = a.id
        AND h.day = (clock_timestamp() AT TIME ZONE 'UTC')::date), 0) AS webhook_tries,
      coalesce((SELECT json_agg(g) FROM (
        SELECT b.scope, (b.reserved + b.spent)::text AS wei FROM service.budget b
        WHERE b.scope = ANY (${scopes}::text[]) AND b.period = date_trunc(
          CASE WHEN b.scope LIKE 'tenant-month:%' THEN 'month' ELSE 'day' END, clock_timestamp())) g), '[]') AS gas,
      coalesce((SELECT json_agg(c) FROM (
        SELECT i.chain_id,
          count(*) FILTER (WHERE i.kind IN ('deploy', 'contract')) AS contracts,
          count(*) FILTER (WHERE i.kind IN ('deploy', 'contract') AND i.created_at >= p.start) AS contracts_now,
          coalesce(sum(service.actions_of(i.kind, i.payload, i.gas)), 0)::float8 AS mints,
          coalesce(sum(service.actions_of(i.kind, i.payload, i.gas)) FILTER (WHERE i.created_at >= p.start), 0)::float8 AS mints_now
        FROM service.intent i
        WHERE i.tenant_id = a.id AND i.retry_number = 0 AND i.kind <> 'update'
          AND i.state NOT IN ('failed_onchain', 'cancelled', 'expired')
        GROUP BY i.chain_id) c), '[]') AS usage
    FROM service.account a CROSS JOIN period p
    LEFT JOIN service.usage_month u ON u.account_id = a.id AND u.month = (p.start AT TIME ZONE 'UTC')::date
    LEFT JOIN service.account_storage s ON s.account_id = a.id
    WHERE a.id = ${caller.accountId}`.execute(services.db);
  const [row] = rows;
  if (!row) throw new ServiceError("not_found", "this account is gone");
  const gasIn = (wanted: string) => BigInt(row.gas.find(({ scope }) => scope === wanted)?.wei ?? 0);
  return {
    id: row.id,
    name: row.name,
    email: row.email,
    tier: row.tier,
    createdAt: row.created_at,
    plan: planOf(caller),
    periodStart: row.period_start,
    periodEnd: row.period_end,
    requestsThisPeriod: Number(row.requests) + services.auth.usage.pending(row.id),
    storedBytes: row.stored,
    transactionsToday: Number(row.transactions_today),
    transactionsThisPeriod: Number(row.transactions_now),
    webhooks: row.webhooks,
    webhookTriesToday: row.webhook_tries,
    usage: services.chains.map((chain) => {
      const used = row.usage.find((item) => item.chain_id === chain.id);
      return {
        chain: chain.name,
        contractsTotal: used?.contracts ?? 0,
        contractsThisPeriod: used?.contracts_now ?? 0,
        mintsTotal: used?.mints ?? 0,
        mintsThisPeriod: used?.mints_now ?? 0,
        gasTodayWei: gasIn(accountScope(row.id, chain.id)),
        maxGasPerDayWei: accountDayWei(chain, row.tier),
        gasThisMonthWei: gasIn(accountMonthScope(row.id, chain.id)),
        maxGasPerMonthWei: accountMonthWei(chain, row.tier),
      };
    }),
  };
}

const shownCharges = 200;

/** The newest charges of the caller's account. */
export async function listCharges(services: Services, caller: Session): Promise<Charge[]> {
  const rows = await services.db
    .selectFrom("service.charge")
    .selectAll()
    .where("account_id", "=", caller.accountId)
    .orderBy("created_at", "desc")
    .orderBy("id")
    .limit(shownCharges)
    .execute();
  return rows.map((row) => ({
    id: row.id,
    chain: services.chains.find((chain) => chain.id === row.chain_id)?.name ?? String(row.chain_id),
    chainId: row.chain_id,
    kind: row.kind,
    usdCents: row.usd_cents,
    state: row.state,
    createdAt: row.created_at,
  }));
}
