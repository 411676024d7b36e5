import { randomUUID } from "node:crypto";
import { type Kysely, sql } from "kysely";
import type { Database } from "../db/database.ts";
import type { Standard } from "../db/tables/nft.ts";
import { retryAfterMs } from "./fault.ts";
import type { TokenReading } from "./read-token.ts";

/** A token this process has to read now; the lease tells its writes from those of a later claim. */
export interface TokenJob {
  chainId: number;
  contract: Buffer;
  tokenId: string;
  leaseId: string;
  attempts: number;
  mintBlock: bigint | null;
  /** Null: the index does not know the token any more (a reorg took it). */
  standard: Standard | null;
}

const leaseSeconds = 60;
const now = sql<Date>`clock_timestamp()`;
const leaseEnd = sql<Date>`clock_timestamp() + make_interval(secs => ${leaseSeconds})`;

/** Whether a token or contract of the chain is due: asked before the node is bothered. */
export async function hasDue(db: Kysely<Database>, chainId: number): Promise<boolean> {
  const { rows } = await sql<{ due: boolean }>`
    SELECT EXISTS (SELECT FROM service.token_metadata WHERE chain_id = ${chainId} AND next_attempt_at <= ${now})
      OR EXISTS (SELECT FROM service.contract_metadata WHERE chain_id = ${chainId} AND next_attempt_at <= ${now}) AS due`.execute(
    db,
  );
  return rows[0]?.due ?? false;
}

/** Takes up to `limit` due tokens of a chain, the most urgent first. Other workers skip them for a minute. */
export async function claimTokens(db: Kysely<Database>, chainId: number, limit: number): Promise<TokenJob[]> {
  const leaseId = randomUUID();
  const rows = await db
    .with("due", (cte) =>
      cte
        .selectFrom("service.token_metadata")
        .select(["contract", "token_id"])
        .where("chain_id", "=", chainId)
        .where("next_attempt_at", "<=", now)
        .orderBy("priority")
        .orderBy("next_attempt_at")
        .limit(limit)
        .forUpdate()
        .skipLocked(),
    )
    .with("claimed", (cte) =>
      cte
        .updateTable("service.token_metadata as m")
        .from("due")
        .set((eb) => ({
          lease_id: leaseId,
          lease_until: leaseEnd,
          next_attempt_at: leaseEnd,
          attempts: eb("m.attempts", "+", 1),
        }))
        .where("m.chain_id", "=", chainId)
        .whereRef("m.contract", "=", "due.contract")
        .whereRef("m.token_id", "=", "due.token_id")
        .returning(["m.contract", "m.token_id", "m.attempts"]),
    )
    .selectFrom("claimed as m")
    .leftJoin("nft.tokens as t", (join) =>
      join.on("t.chain_id", "=", chainId).onRef("t.contract", "=", "m.contract").onRef("t.token_id", "=", "m.token_id"),
    )
    .select(["m.contract", "m.token_id", "m.attempts", "t.standard", "t.mint_block"])
    .execute();
  return rows.map((row) => ({
    chainId,
    leaseId,
    contract: row.contract,
    tokenId: row.token_id,
    attempts: row.attempts,
    standard: row.standard,
    mintBlock: row.mint_block,
  }));
}

/**
 * Writes what a token's reading brought. A failed reading keeps the document of an earlier one. When
 * the contract announced a change after the block that was read, the token stays due.
 *
 * @param block at which the URI was read.
 */
export async function finishToken(
  db: Kysely<Database>,
  job: TokenJob,
  block: bigint,
  reading: TokenReading,
): Promise<void> {
  const isStale = sql<boolean>`coalesce(wanted_block > ${block}, false)`;
  const soon = sql<Date>`clock_timestamp() + interval '1 second'`;
  const read = {
    fetched_block: block,
    attempted_at: now,
    lease_id: null,
    lease_until: null,
  };
  const update = leased(db, job);
  if (reading.outcome === "failed") {
    const later = sql<Date>`clock_timestamp() + make_interval(secs => ${retryAfterMs(reading.fault, job.attempts) / 1000})`;
    await update
      .set({
        ...read,
        status: sql`CASE WHEN ${isStale} THEN 'pending' ELSE 'failed' END`,
        next_attempt_at: sql<Date>`CASE WHEN ${isStale} THEN ${soon} ELSE ${later} END`,
        error_code: reading.fault,
        ...(reading.tokenUri === null ? {} : { token_uri: reading.tokenUri }),
      })
      .execute();
    return;
  }
  const { document } = reading;
  await update
    .set({
      ...read,
      status: sql`CASE WHEN ${isStale} THEN 'pending' ELSE 'fresh' END`,
      next_attempt_at: sql<Date | null>`CASE WHEN ${isStale} THEN ${soon} END`,
      priority: 3,
      attempts: 0,
      fetched_at: now,
      error_code: null,
      token_uri: reading.tokenUri,
      metadata: document.text,
      metadata_hash: document.hash,
      raw_cid: reading.cid,
      name: document.name,
      description: document.description,
      image: document.image,
      animation_url: document.animationUrl,
      cached_image: reading.cachedImage,
      cached_animation: reading.cachedAnimation,
    })
    .execute();
}

/** Gives a job back untried: after a second, or at once when the process stops. */
export async function releaseToken(db: Kysely<Database>, job: TokenJob, delayMs: number): Promise<void> {
  await leased(db, job)
    .set((eb) => ({
      lease_id: null,
      lease_until: null,
      attempts: eb("attempts", "-", 1),
      next_attempt_at: sql<Date>`clock_timestamp() + make_interval(secs => ${delayMs / 1000})`,
    }))
    .execute();
}

/** Forgets a token the index has lost; should it come back, it is found like a new one. */
export async function dropToken(db: Kysely<Database>, job: TokenJob): Promise<void> {
  await db
    .deleteFrom("service.token_metadata")
    .where("chain_id", "=", job.chainId)
    .where("contract", "=", job.contract)
    .where("token_id", "=", job.tokenId)
    .where("lease_id", "=", job.leaseId)
    .execute();
}

function leased(db: Kysely<Database>, job: TokenJob) {
  return db
    .updateTable("service.token_metadata")
    .where("chain_id", "=", job.chainId)
    .where("contract", "=", job.contract)
    .where("token_id", "=", job.tokenId)
    .where("lease_id", "=", job.leaseId);
}
