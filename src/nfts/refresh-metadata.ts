import { sql, type Transaction } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { planOf } from "../auth/plans.ts";
import { perDay, type RateAnswer, type RateLimiter } from "../auth/rate-limit.ts";
import { findChain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import type { Database } from "../db/database.ts";
import { withheldContracts, withheldTokenOf } from "../db/withheld-token.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import { unknownContract } from "./not-indexed.ts";

export interface RefreshMetadataInput {
  chain: string;
  /** Any letter case. */
  contract: string;
  /** Absent: all tokens of the contract. */
  tokenId?: bigint | undefined;
}

/** `ADDED`: queued now. `PENDING`: was already queued. `PROCESSING`: being read right now. */
export type RefreshStatus = "ADDED" | "PENDING" | "PROCESSING" | "REFRESHED_RECENTLY";

export const refreshMessages: Record<RefreshStatus, string> = {
  ADDED: "The metadata was queued to be read again.",
  PENDING: "The metadata is already queued to be read.",
  PROCESSING: "The metadata is being read now.",
  REFRESHED_RECENTLY: "The metadata was read a few minutes ago; ask again later.",
};

/**
 * The daily allowance of re-read tokens on plans with daily limits, including failed tokens that are shown again. Each
 * one costs node calls and requests to whatever server the token names.
 */
export const refreshesOfDay = perDay(200);

/** Takes tokens from an account's daily allowance. */
export async function takeRefreshes(limiter: RateLimiter, accountId: string, tokens = 1): Promise<RateAnswer> {
  return await limiter.take(`refresh-day:${accountId}`, refreshesOfDay, tokens);
}

const recently = sql<Date>`clock_timestamp() - interval '5 minutes'`;
const now = sql<Date>`clock_timestamp()`;

/**
 * Has the metadata of a token, or of a whole contract, read again with priority.
 *
 * @throws ServiceError `not_found` for a contract or token the index has never seen; `rate_limit_exceeded` and
 * `plan_limit_exceeded` on plans with daily limits.
 */
export async function refreshMetadata(
  services: Services,
  caller: Caller,
  input: RefreshMetadataInput,
): Promise<RefreshStatus> {
  const chain = findChain(services.chains, input.chain);
  const contract = toBytes(input.contract);
  await admitRefresh(services, caller, chain.id, contract, input.tokenId === undefined);
  return await services.db
    .transaction()
    .execute((db) =>
      input.tokenId === undefined
        ? refreshContract(db, chain.id, contract)
        : refreshToken(db, chain.id, contract, String(input.tokenId)),
    );
}

/** A contract counts as all of its tokens. Changes that the chain announces are read again without this. */
async function admitRefresh(
  { db, auth, config }: Services,
  caller: Caller,
  chainId: number,
  contract: Buffer,
  isWhole: boolean,
): Promise<void> {
  if (planOf(caller).deployRequestsPerDay === null || !config.rateLimits) return;
  let tokens = 1;
  if (isWhole) {
    const { rows } = await sql<{ count: number }>`SELECT c.token_count::float8 AS count FROM nft.contracts c
      WHERE c.chain_id = ${chainId} AND c.address = ${contract}`.execute(db);
    tokens = Math.max(1, rows[0]?.count ?? 1);
  }
  const { burst } = refreshesOfDay;
  if (tokens > burst)
    throw new ServiceError(
      "plan_limit_exceeded",
      `this contract has ${tokens} tokens, and your plan has ${burst} read again at once: ask for single tokens`,
      { details: { limit: burst, tokens } },
    );
  const day = await takeRefreshes(auth.limiter, caller.accountId, tokens);
  if (day.allowed) return;
  throw new ServiceError(
    "rate_limit_exceeded",
    `your plan includes ${2 * burst} tokens in a day that are read again; wait ${day.retryAfterSeconds} s`,
    { retryAfterSeconds: day.retryAfterSeconds },
  );
}

async function refreshToken(
  db: Transaction<Database>,
  chainId: number,
  contract: Buffer,
  tokenId: string,
): Promise<RefreshStatus> {
  const added = await sql`
    INSERT INTO service.token_metadata (chain_id, contract, token_id, priority)
    SELECT k.chain_id, k.contract, k.token_id, 0
    FROM (SELECT ${chainId}::integer AS chain_id, ${contract}::bytea AS contract, ${tokenId}::numeric AS token_id) k
    WHERE EXISTS (SELECT FROM nft.tokens t
        WHERE t.chain_id = k.chain_id AND t.contract = k.contract AND t.token_id = k.token_id)
      OR EXISTS (SELECT FROM ${sql.raw(withheldTokenOf("k"))} w)
    ON CONFLICT DO NOTHING RETURNING 1`.execute(db);
  if (added.rows.length > 0) return "ADDED";
  const row = await db
    .selectFrom("service.token_metadata as m")
    .select([
      sql<boolean>`coalesce(m.lease_until > ${now}, false)`.as("leased"),
      sql<boolean>`m.status = 'pending'`.as("pending"),
      sql<boolean>`coalesce(m.fetched_at > ${recently}, false)`.as("recent"),
    ])
    .where("m.chain_id", "=", chainId)
    .where("m.contract", "=", contract)
    .where("m.token_id", "=", tokenId)
    .forUpdate()
    .executeTakeFirst();
  if (!row) throw new ServiceError("not_found", "this contract has no such token");
  if (row.leased) return "PROCESSING";
  if (!row.pending && row.recent) return "REFRESHED_RECENTLY";
  await db
    .updateTable("service.token_metadata")
    .set({ status: "pending", priority: 0, next_attempt_at: now })
    .where("chain_id", "=", chainId)
    .where("contract", "=", contract)
    .where("token_id", "=", tokenId)
    .execute();
  return row.pending ? "PENDING" : "ADDED";
}

/** Only records the request, because a contract can have millions of tokens; the worker marks them in batches. */
async function refreshContract(db: Transaction<Database>, chainId: number, address: Buffer): Promise<RefreshStatus> {
  const { rows } = await sql`
    SELECT 1 FROM nft.contracts c WHERE c.chain_id = ${chainId} AND c.address = ${address}
    UNION ALL
    SELECT 1 FROM ${sql.raw(withheldContracts)} w WHERE w.chain_id = ${chainId} AND w.address = ${address}
    LIMIT 1`.execute(db);
  if (rows.length === 0) throw unknownContract();
  await db
    .insertInto("service.contract_metadata")
    .values({ chain_id: chainId, address })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const row = await db
    .selectFrom("service.contract_metadata as m")
    .select([
      sql<boolean>`m.refresh_requested_at IS NOT NULL AND m.refresh_applied_at IS NULL`.as("waiting"),
      sql<boolean>`coalesce(m.refresh_requested_at > ${recently}, false)`.as("recent"),
      sql<boolean>`EXISTS (SELECT FROM service.token_metadata t
        WHERE t.chain_id = ${chainId} AND t.contract = ${address} AND t.status = 'pending')`.as("reading"),
    ])
    .where("m.chain_id", "=", chainId)
    .where("m.address", "=", address)
    .forUpdate()
    .executeTakeFirstOrThrow();
  if (row.waiting) return "PENDING";
  if (row.recent) return row.reading ? "PROCESSING" : "REFRESHED_RECENTLY";
  await db
    .updateTable("service.contract_metadata")
    .set({ refresh_requested_at: now, refresh_applied_at: null, status: "pending", next_attempt_at: now })
    .where("chain_id", "=", chainId)
    .where("address", "=", address)
    .execute();
  return "ADDED";
}
