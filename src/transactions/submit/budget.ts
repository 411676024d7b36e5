import { type Kysely, type RawBuilder, sql } from "kysely";
import { formatEther, formatUnits } from "viem";
import type { Chain } from "../../chains.ts";
import type { Database } from "../../db/database.ts";
import type { Tier } from "../../db/tables/accounts.ts";
import type { CallKind } from "../../db/tables/relay.ts";
import { type ErrorCode, ServiceError } from "../../errors/errors.ts";
import type { RelayContext } from "../chain/context.ts";
import { least, most } from "../chain/fees.ts";
import { dataRoom, likelyDataPrice, likelyFee } from "../chain/market.ts";

/** What accepting a request reserves until its transaction is in a block. */
export interface GasReservation {
  /** The likely maximum cost. No attempt may cost more unless this is raised first (`raiseGasReservation`). */
  wei: bigint;
  limits: readonly Limit[];
}

type LimitUnit = "month" | "day" | "hour";

export interface Limit {
  scope: string;
  unit: LimitUnit;
  amount: bigint;
  allowed: bigint;
  /** The client's error when the limit is used up. */
  code: ErrorCode;
  /** Whose limit it is, as the beginning of a sentence. */
  whose: string;
}

/** Usual gas limits of deployments and updates; the simulation of each request has the last word. */
const gasOf = {
  deploy: (bytes: number) => 150_000n + 300n * BigInt(bytes),
  update: (bytes: number) => 150_000n + 900n * BigInt(bytes),
  // Each word of a token's URI takes a new storage slot.
  operate: (bytes: number) => 180_000n + 900n * BigInt(bytes),
};

/**
 * An eighth of a chain's limit is not available to new requests. It pays for fees that rise while transactions wait, so
 * that an unmined one can be replaced and those behind it can proceed.
 */
const keptForPeaks = 8n;

interface Spender {
  tenantId: string;
  tier: Tier;
}

/**
 * Plans a request's likely maximum cost: usual gas at today's fee, which includes twice the base fee.
 *
 * @param estimate a node's gas estimate; it may be far above the usual gas.
 * @param bytes of the init data (non-zero ones only), the update's changes or the call's data: storage is what costs.
 */
export function planGasReservation(
  services: RelayContext,
  chain: Chain,
  request: Spender & { kind: CallKind; bytes: number; estimate?: bigint | null },
): GasReservation {
  const usual = gasOf[request.kind](request.bytes);
  const signed = ((request.estimate ?? 0n) * 12n) / 10n;
  // For a deployment only non-zero bytes are counted, and there are about as many zero bytes.
  const gas = most(signed, usual);
  const dataWei = dataRoom * likelyDataPrice(chain) * BigInt(2 * request.bytes + 500);
  const wei = gas * likelyFee(chain) + least(dataWei, gas * chain.relay.maxFeeWei);
  return { wei, limits: limitsOf(services, chain, request, wei, "new") };
}

/** The scope in `service.budget` for what an account has spent and reserved on a chain. */
export function accountScope(accountId: string, chainId: number): string {
  return `tenant:${accountId}:${chainId}`;
}

/** The scope of an account's month. It needs another name, since a month begins on the same date as a day. */
export function accountMonthScope(accountId: string, chainId: number): string {
  return `tenant-month:${accountId}:${chainId}`;
}

/** What all free accounts cost on all chains, in millionths of a euro (`service.settle_entries`). */
const eurScope = "free-eur";
const oneCoin = 10n ** 18n;

/** What an account's transactions may cost on a chain per day, in wei. */
export function accountDayWei({ relay: { tenantDayWei, freeAccountDayWei } }: Chain, tier: Tier): bigint {
  return tier === "free" && freeAccountDayWei !== null ? least(tenantDayWei, freeAccountDayWei) : tenantDayWei;
}

/** What they may cost per month, in wei; null: only the day's limit applies. */
export function accountMonthWei({ relay }: Chain, tier: Tier): bigint | null {
  return tier === "free" ? relay.freeAccountMonthWei : null;
}

/**
 * Every limit that an account's transaction counts against. For a free account: its own day and month, the share of all
 * free accounts, so that paid plans always have the rest, and what all free accounts may cost on all chains.
 *
 * @param use `new` for a new request, which must not use the part kept for fee peaks; `raise` for an accepted one.
 */
export function limitsOf(
  services: RelayContext,
  chain: Chain,
  { tenantId, tier }: Spender,
  wei: bigint,
  use: "new" | "raise",
): Limit[] {
  const { chainHourWei, chainDayWei } = chain.relay;
  const { freeShare, freeDayMicroEur, globalHourTransactions } = services.config;
  const free = tier === "free";
  const ofChain = (allowed: bigint) => (use === "new" ? allowed - allowed / keptForPeaks : allowed);
  const shared = (allowed: bigint) => (allowed * BigInt(freeShare)) / 100n;
  const transactions = BigInt(globalHourTransactions);
  const busy = "service_unavailable" as const;
  const together = "all accounts together";
  const freeTogether = "free accounts together (a paid plan has a part of its own)";
  const month = accountMonthWei(chain, tier);
  const ofAccount = { amount: wei, code: "rate_limit_exceeded", whose: "this account" } as const;
  const microEur = (wei * chain.relay.coinMicroEur + oneCoin - 1n) / oneCoin;
  return [
    { ...ofAccount, scope: accountScope(tenantId, chain.id), unit: "day", allowed: accountDayWei(chain, tier) },
    ...(month === null
      ? []
      : [{ ...ofAccount, scope: accountMonthScope(tenantId, chain.id), unit: "month", allowed: month } as const]),
    ...(free
      ? (
          [
            { scope: `free:${chain.id}`, unit: "hour", amount: wei, allowed: shared(chainHourWei) },
            { scope: `free-day:${chain.id}`, unit: "day", amount: wei, allowed: shared(chainDayWei) },
            { scope: "free", unit: "hour", amount: 1n, allowed: shared(transactions) },
            // Coins without a price cost nothing in euros.
            ...(microEur > 0n
              ? [{ scope: eurScope, unit: "day", amount: microEur, allowed: freeDayMicroEur } as const]
              : []),
          ] as const
        ).map((limit) => ({ ...limit, code: busy, whose: freeTogether }))
      : []),
    {
      scope: `chain:${chain.id}`,
      unit: "hour",
      amount: wei,
      allowed: ofChain(chainHourWei),
      code: busy,
      whose: together,
    },
    {
      scope: `chain-day:${chain.id}`,
      unit: "day",
      amount: wei,
      allowed: ofChain(chainDayWei),
      code: busy,
      whose: together,
    },
    { scope: "global", unit: "hour", amount: 1n, allowed: transactions, code: busy, whose: together },
  ];
}

/**
 * SQL that reserves likely costs in the statement that accepts requests of one account and chain, as rows `kept` with
 * the scopes that had budget left, locked by all callers in one order. If they are fewer than in `sums`,
 * `service.require_limits` rolls the statement back. It needs rows `inserted`, with the `id` of each new request.
 */
export function keepLimits(requests: readonly { id: string; reservation: GasReservation }[]): RawBuilder<unknown> {
  const rows = requests.flatMap(({ id, reservation }) => reservation.limits.map((limit) => ({ id, ...limit })));
  const column = (name: "id" | "scope" | "unit" | "amount" | "allowed") => rows.map((row) => String(row[name]));
  return sql`wanted AS (
      SELECT w.* FROM inserted i JOIN unnest(${column("id")}::uuid[], ${column("scope")}::text[], ${column("unit")}::text[],
        ${column("amount")}::numeric[], ${column("allowed")}::numeric[]) AS w (id, scope, unit, amount, allowed) USING (id)),
    sums AS (
      SELECT scope, unit, min(allowed) AS allowed, sum(amount) AS amount FROM wanted GROUP BY scope, unit),
    kept AS (
      INSERT INTO service.budget AS b (scope, period, allowed, reserved)
      SELECT scope, date_trunc(unit, clock_timestamp()), allowed, amount FROM sums WHERE amount <= allowed ORDER BY scope
      ON CONFLICT (scope, period) DO UPDATE SET reserved = b.reserved + excluded.reserved, allowed = excluded.allowed
      WHERE b.reserved + b.spent + excluded.reserved <= excluded.allowed
      RETURNING b.scope, b.period),
    entries AS (
      INSERT INTO service.budget_entry (intent_id, scope, period, amount)
      SELECT w.id, scope, k.period, w.amount FROM kept k JOIN wanted w USING (scope))`;
}

/** The first exhausted limit in an error of `service.require_limits`; null for other errors. */
export function fullLimit(limits: readonly Limit[], error: unknown): Limit | null {
  const { code, detail } = error as { code?: unknown; detail?: string };
  if (code !== "MY002") return null;
  const kept = JSON.parse(detail ?? "[]") as string[];
  const full = limits.find(({ scope }) => !kept.includes(scope));
  if (!full) throw new Error("a limit had no room, but none of those that were asked for");
  return full;
}

/** The state of a limit that was exhausted a moment ago. */
interface FullLimit {
  limit: Limit;
  /** True: the limit is filled by reservations, most of which are released as transactions are mined. */
  passes: boolean;
  /** Until the limit's hour, day or month ends. */
  secondsLeft: number;
}

export async function readLimit(db: Kysely<Database>, limit: Limit): Promise<FullLimit> {
  const { rows } = await sql<{ spent: string; left: number }>`
    SELECT coalesce((SELECT spent FROM service.budget b WHERE b.scope = ${limit.scope} AND b.period = p.period), 0) AS spent,
      extract(epoch FROM p.period + ${`1 ${limit.unit}`}::interval - clock_timestamp())::float8 AS left
    FROM (SELECT date_trunc(${limit.unit}, clock_timestamp()) AS period) p`.execute(db);
  const [{ spent = "0", left = 0 } = {}] = rows;
  return { limit, passes: BigInt(spent) + limit.amount <= limit.allowed, secondsLeft: Math.max(1, Math.ceil(left)) };
}

/** Transactions with reservations are usually mined within this time. */
const blocksSeconds = 15;
/** A guess: nobody knows when fees will fall. */
const feesSeconds = 300;

/** The client's error: which limit, why, what helps, and when. */
export function refusalOf({ limit, passes, secondsLeft }: FullLimit): ServiceError {
  const { code, whose, unit, amount, allowed, scope } = limit;
  if (amount > allowed) {
    const worth = (sum: bigint) => (scope === eurScope ? `${formatUnits(sum, 6)} EUR` : `${formatEther(sum)} coins`);
    const coins = `${worth(amount)} at today's fees, and ${worth(allowed)} is the most`;
    return new ServiceError(
      code,
      `${whose} may not spend this much in ${article(unit)}: it may cost ${coins}; try again when fees have fallen`,
      {
        retryAfterSeconds: Math.min(feesSeconds, secondsLeft),
        details: { limit: limit.scope.replace(/:.*/, "") },
      },
    );
  }
  const wait = passes ? Math.min(blocksSeconds, secondsLeft) : secondsLeft;
  const why = passes
    ? `what ${whose} may spend in ${article(unit)} is set aside for transactions that are being mined`
    : `what ${whose} may spend in ${article(unit)} is spent`;
  return new ServiceError(code, `${why}; try again in ${wait} s`, {
    retryAfterSeconds: wait,
    details: { limit: limit.scope.replace(/:.*/, "") },
  });
}

function article(unit: LimitUnit): string {
  return { hour: "an hour", day: "a day (UTC)", month: "a month (UTC)" }[unit];
}
