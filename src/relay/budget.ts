import { type RawBuilder, sql } from "kysely";
import type { Chain } from "../chains.ts";
import { type ErrorCode, ServiceError } from "../errors.ts";
import type { Services } from "../services.ts";

/** What accepting a request sets aside until its receipt is final. */
export interface Reservation {
  /** Worst case: no attempt of the intent may ever cost more. */
  maxCostWei: bigint;
  limits: readonly Limit[];
}

interface Limit {
  scope: string;
  unit: "day" | "hour";
  amount: bigint;
  allowed: bigint;
  /** What the client is told when it is used up. */
  code: ErrorCode;
  message: string;
}

/** Generous: a simulation finds the real figure later, and the difference is given back. */
const gasOf = {
  deploy: (bytes: number) => 400_000n + 300n * BigInt(bytes),
  update: (bytes: number) => 1_500_000n + 1_000n * BigInt(bytes),
};

/** @param bytes of the deployment's init data or of the update's changes: storage is what costs. */
export function planReservation(
  services: Services,
  chain: Chain,
  request: { tenantId: string; kind: "deploy" | "update"; bytes: number },
): Reservation {
  const maxCostWei = gasOf[request.kind](request.bytes) * chain.relay.maxFeeWei;
  const limits: Limit[] = [
    {
      scope: `chain:${chain.id}`,
      unit: "hour",
      amount: maxCostWei,
      allowed: chain.relay.chainHourWei,
      code: "service_unavailable",
      message: `what may be spent on ${chain.name} in an hour is used up; try again later`,
    },
    {
      scope: "global",
      unit: "hour",
      amount: 1n,
      allowed: BigInt(services.config.globalHourTransactions),
      code: "service_unavailable",
      message: "what this installation may send in an hour is used up; try again later",
    },
    {
      scope: `tenant:${request.tenantId}:${chain.id}`,
      unit: "day",
      amount: maxCostWei,
      allowed: chain.relay.tenantDayWei,
      code: "rate_limit_exceeded",
      message: `what this account may spend on ${chain.name} in a day is used up; try again tomorrow`,
    },
  ];
  return { maxCostWei, limits };
}

/** The limits as rows `wanted`, for a statement that also has `keepLimits`. */
export function wantedLimits({ limits }: Reservation): RawBuilder<unknown> {
  const column = (name: "scope" | "unit" | "amount" | "allowed") => limits.map((limit) => String(limit[name]));
  return sql`wanted AS (
    SELECT * FROM unnest(${column("scope")}::text[], ${column("unit")}::text[], ${column("amount")}::numeric[],
      ${column("allowed")}::numeric[]) AS w (scope, unit, amount, allowed))`;
}

/**
 * Sets the worst case aside in the statement that accepts the intent, as rows `kept` with the scopes that had room.
 * Everybody takes the rows in the same order. `service.require_limits` takes the statement back when one is missing.
 *
 * @param accepted rows with the new intent's `id`; nothing is set aside when there are none.
 */
export function keepLimits(accepted: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`kept AS (
      INSERT INTO service.budget AS b (scope, period, allowed, reserved)
      SELECT scope, date_trunc(unit, clock_timestamp()), allowed, amount FROM wanted
      WHERE amount <= allowed AND EXISTS (SELECT FROM ${accepted}) ORDER BY scope
      ON CONFLICT (scope, period) DO UPDATE SET reserved = b.reserved + excluded.reserved, allowed = excluded.allowed
      WHERE b.reserved + b.spent + excluded.reserved <= excluded.allowed
      RETURNING b.scope, b.period),
    entries AS (
      INSERT INTO service.budget_entry (intent_id, scope, period, amount)
      SELECT a.id, k.scope, k.period, w.amount FROM kept k JOIN wanted w USING (scope), ${accepted} a)`;
}

/** The refusal of `service.require_limits` in the words of the first limit without room; null for other errors. */
export function asLimit({ limits }: Reservation, error: unknown): ServiceError | null {
  const { code, detail } = error as { code?: unknown; detail?: string };
  if (code !== "MY002") return null;
  const kept = JSON.parse(detail ?? "[]") as string[];
  const full = limits.find(({ scope }) => !kept.includes(scope));
  if (!full) throw new Error("a limit had no room, but none of those that were asked for");
  return new ServiceError(full.code, full.message, { retryAfterSeconds: full.unit === "day" ? 3_600 : 300 });
}
