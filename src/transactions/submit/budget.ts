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

/** What accepting a request sets aside until its transaction is in a block. */
export interface GasReservation {
  /** What it is likely to cost at most; no attempt may ever cost more, unless this is raised before (`raiseGasReservation`). */
  wei: bigint;
  limits: readonly Limit[];
}

type LimitUnit = "month" | "day" | "hour";

export interface Limit {
  scope: string;
  unit: LimitUnit;
  amount: bigint;
  allowed: bigint;
  /** The client's error when it is used up. */
  code: ErrorCode;
  /** Whose limit it is, as the beginning of a sentence. */
  whose: string;
}

/** Gas limits that deployments and updates are usually signed with; the simulation of each has the last word. */
const gasOf = {
  deploy: (bytes: number) => 150_000n + 300n * BigInt(bytes),
  update: (bytes: number) => 150_000n + 900n * BigInt(bytes),
  // A word of a token's URI takes a fresh slot of storage.
  operate: (bytes: number) => 180_000n + 900n * BigInt(bytes),
};

/**
 * Of what a chain may spend, an eighth is kept from new requests: it is for fees that rise while transactions wait, so
 * that an unmined one can be replaced and those behind it get on.
 */
const keptForPeaks = 8n;

interface Spender {
  tenantId: string;
  tier: Tier;
}

/**
 * What a request is likely to cost at most: usual gas by today's fee, which has room for twice the base fee.
 *
 * @param estimate what a node says that it takes; it may be dear.
 * @param bytes of the deployment's init data that are not zero, or of the update's changes, or of a call's data: storage is what costs.
 */
export function planGasReservation(
  services: RelayContext,
  chain: Chain,
  request: Spender & { kind: CallKind; bytes: number; estimate?: bigint | null },
): GasReservation {
  const usual = gasOf[request.kind](request.bytes);
  const signed = ((request.estimate ?? 0n) * 12n) / 10n;
  // Of a deployment only bytes that are not zero are counted, and about as many are.
  const gas = most(signed, usual);
  const dataWei = dataRoom * likelyDataPrice(chain) * BigInt(2 * request.bytes + 500);
  const wei = gas * likelyFee(chain) + least(dataWei, gas * chain.relay.maxFeeWei);
  return { wei, limits: limitsOf(services, chain, request, wei, "new") };
}

/** Under which `service.budget` has what an account spent and reserved on a chain. */
export function accountScope(accountId: string, chainId: number): string {
  return `tenant:${accountId}:${chainId}`;
}

/** The same of a month: another name, since a month begins with a day. */
export function accountMonthScope(accountId: string, chainId: number): string {
  return `tenant-month:${accountId}:${chainId}`;
}

/** What all free accounts cost together on all chains, in millionths of a euro (`service.settle_entries`). */
const eurScope = "free-eur";
const oneCoin = 10n ** 18n;

/** What an account's transactions may cost on a chain in a day, in wei. */
export function accountDayWei({ relay: { tenantDayWei, freeAccountDayWei } }: Chain, tier: Tier): bigint {
  return tier === "free" && freeAccountDayWei !== null ? least(tenantDayWei, freeAccountDayWei) : tenantDayWei;
}

/** What they may cost in a month; null: there is no limit but the day's. */
export function accountMonthWei({ relay }: Chain, tier: Tier): bigint | null {
  return tier === "free" ? relay.freeAccountMonthWei : null;
}

/**
 * Every limit that a transaction of an account counts in. Of a free account: its own day and month, then the share that
 * free accounts have together, so that paid plans always have the rest, and what all of them may cost on all chains.
 *
 * @param use `new` for a request, which leaves the part for fee peaks alone; `raise` for one that was accepted.
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
            // Coins that are worth nothing cost nothing.
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
 * Sets likely costs aside in the statement that accepts requests of one account and chain, as rows `kept` with the scopes that
 * had room. Everybody takes the rows in the same order. `service.require_limits` takes the statement back when there are
 * fewer than in `sums`. The statement has rows `inserted`, with the `id` of each request that is new.
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

/** The first limit without room, of a refusal of `service.require_limits`; null for other errors. */
export function fullLimit(limits: readonly Limit[], error: unknown): Limit | null {
  const { code, detail } = error as { code?: unknown; detail?: string };
  if (code !== "MY002") return null;
  const kept = JSON.parse(detail ?? "[]") as string[];
  const full = limits.find(({ scope }) => !kept.includes(scope));
  if (!full) throw new Error("a limit had no room, but none of those that were asked for");
  return full;
}

/** How a limit stands that had no room a moment ago. */
interface FullLimit {
  limit: Limit;
  /** True: what is in the way is only set aside, and blocks will give most of it back. */
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

/** Blocks that take what is set aside come within about this time. */
const blocksSeconds = 15;
/** Fees fall when they fall. */
const feesSeconds = 300;

/** A client's error: which limit, why, what helps, and when. */
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
