import { randomUUID } from "node:crypto";
import { type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import { toBytes } from "../../db/bytes.ts";
import type { Database } from "../../db/database.ts";
import { claimRows, dueRows, inSeconds, isHeld, noLease, type WorkQueue } from "../../db/lease.ts";
import type { Standard } from "../../db/tables/nft.ts";
import { withheldToken } from "../../db/withheld-token.ts";
import { type Fault, type FaultCode, isFault, mayPass, retryAfterMs } from "../../outbound/fault.ts";
import type { PinnedBlock } from "../read/call-contract.ts";
import { hashOf } from "../read/parse-document.ts";
import type { MediaInformation } from "../read/probe-media.ts";
import type { TokenReading } from "../read/read-token.ts";

/** A token that this process has claimed. The lease tells its writes from those of a later claim. */
export interface TokenJob {
  chainId: number;
  contract: Buffer;
  tokenId: string;
  leaseId: string;
  attempts: number;
  mintBlock: bigint | null;
  /** Null: the index no longer has the token (a reorg removed it). */
  standard: Standard | null;
}

const leaseSeconds = 60;
const rawHeadBytes = 65_536;
/** How many times an image's server is asked; then only a refresh asks again. */
const fileAttempts = 5;
const now = sql<Date>`clock_timestamp()`;

const queueOf = (chainId: number): WorkQueue => ({
  table: "service.token_metadata",
  scope: { chain_id: chainId },
  key: ["contract", "token_id"],
  due: "next_attempt_at",
  attempts: "attempts",
  named: true,
});

/** A contract with due tokens of one priority. */
export interface DueContract {
  contract: Buffer;
  priority: number;
}

/**
 * Up to `most` contracts of a chain with due tokens: the most urgent first, equals in no order. It costs one index
 * probe per contract, however many tokens each has.
 */
export async function listDueContracts(db: Kysely<Database>, chainId: number, most: number): Promise<DueContract[]> {
  const { rows } = await sql<DueContract>`
    WITH RECURSIVE pair AS (
      (SELECT priority, contract, next_attempt_at FROM service.token_metadata
       WHERE chain_id = ${chainId} AND next_attempt_at IS NOT NULL
       ORDER BY priority, contract, next_attempt_at LIMIT 1)
      UNION ALL
      SELECT n.priority, n.contract, n.next_attempt_at FROM pair p CROSS JOIN LATERAL (
        SELECT priority, contract, next_attempt_at FROM service.token_metadata
        WHERE chain_id = ${chainId} AND next_attempt_at IS NOT NULL
          AND (priority, contract) > (p.priority, p.contract)
        ORDER BY priority, contract, next_attempt_at LIMIT 1
      ) n
    )
    SELECT priority, contract FROM (
      SELECT priority, contract FROM pair WHERE next_attempt_at <= clock_timestamp() LIMIT ${most}) due
    ORDER BY priority, random()`.execute(db);
  return rows;
}

/** How many tokens of a contract to claim. */
export interface ContractClaim extends DueContract {
  count: number;
}

/** Claims due tokens of the given contracts, those that wait longest first. Other workers skip them for a minute. */
export async function claimTokens(
  db: Kysely<Database>,
  chainId: number,
  claims: readonly ContractClaim[],
): Promise<TokenJob[]> {
  const leaseId = randomUUID();
  const queue = queueOf(chainId);
  const ofContract = sql<SqlBool>`q.contract = w.contract AND q.priority = w.priority`;
  const due = sql`
    SELECT d.contract, d.token_id
    FROM unnest(${claims.map(({ contract }) => contract)}::bytea[], ${claims.map(({ priority }) => priority)}::smallint[],
      ${claims.map(({ count }) => count)}::integer[]) AS w (contract, priority, count)
    CROSS JOIN LATERAL (${dueRows(queue, sql<number>`w.count`, ofContract)}) d`;
  const columns = sql`m.contract, m.token_id, m.attempts`;
  const { rows } = await sql<Omit<TokenJob, "chainId" | "leaseId">>`
    WITH claimed AS (${claimRows(queue, due, { seconds: leaseSeconds, id: leaseId }, columns)})
    SELECT m.contract, m.token_id AS "tokenId", m.attempts, coalesce(t.standard, w.standard) AS standard,
      coalesce(t.mint_block, w.mint_block) AS "mintBlock"
    FROM claimed m
    LEFT JOIN nft.tokens t ON t.chain_id = ${chainId} AND t.contract = m.contract AND t.token_id = m.token_id
    LEFT JOIN LATERAL (SELECT * FROM ${sql.raw(withheldToken({ chainId: String(chainId), contract: "m.contract", tokenId: "m.token_id" }))} w
      WHERE t.token_id IS NULL) w ON true`.execute(db);
  return rows.map((row) => ({ chainId, leaseId, ...row }));
}

/**
 * Writes the result of reading a token. A failed reading keeps an earlier document, unless the token has another URI
 * now: then that document no longer describes the token. The token stays due if the contract announced a change after
 * the block that was read, or if that block has turned out to belong to a dead branch.
 *
 * @param block the block at which the URI was read; recorded before with `recordReadBlock`.
 */
export async function finishToken(
  db: Kysely<Database>,
  job: TokenJob,
  block: PinnedBlock,
  reading: TokenReading,
): Promise<void> {
  const isStale = sql<boolean>`(coalesce(wanted_block > ${block.number}, false) OR NOT EXISTS (
    SELECT FROM service.metadata_read_block b
    WHERE b.chain_id = ${job.chainId} AND b.number = ${block.number} AND b.hash = ${toBytes(block.hash)}))`;
  const soon = inSeconds(1);
  const read = { fetched_block: block.number, attempted_at: now, ...noLease };
  const update = leased(db, job);
  if (reading.outcome === "failed") {
    const raw = reading.raw && { raw: reading.raw, hash: hashOf(reading.raw) };
    if (raw) await keepRaw(db, raw.hash, raw.raw);
    await update
      .set({
        ...read,
        status: sql`CASE WHEN ${isStale} THEN 'pending' ELSE 'failed' END`,
        next_attempt_at: sql<Date | null>`CASE WHEN ${isStale} THEN ${soon} ELSE ${later(reading, job.attempts)} END`,
        error_code: reading.fault,
        // The earlier document, which is still shown, keeps its own hash.
        ...(raw
          ? { metadata_hash: sql<Buffer>`CASE WHEN metadata IS NULL THEN ${raw.hash} ELSE metadata_hash END` }
          : {}),
        ...(reading.tokenUri === null ? ofThisLife() : atUri(reading.tokenUri, raw?.hash ?? null)),
      })
      .execute();
    return;
  }
  const { document, file } = reading;
  if (document.raw) await keepRaw(db, document.hash, document.raw);
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
      id_in_metadata: document.id,
      warnings: document.warnings.length > 0 ? document.warnings : null,
      metadata_hash: document.hash,
      raw_cid: reading.cid,
      name: document.name,
      description: document.description,
      image: document.image,
      animation_url: document.animationUrl,
      cached_image: reading.cachedImage,
      cached_animation: reading.cachedAnimation,
      ...(file === null && document.image !== null
        ? // The known values stay until the server has answered, if they are of this very image.
          without(fileColumnNames, sql`image IS DISTINCT FROM ${document.image}`)
        : fileColumns(file)),
    })
    .execute();
}

/** Writes what an image's server reported, unless the token has another image meanwhile. */
export async function finishFile(
  db: Kysely<Database>,
  job: TokenJob,
  image: string,
  file: MediaInformation | Fault,
): Promise<void> {
  // The whole token is read again. Earlier tries in `attempts`, if any, failed because of its document.
  const again = isFault(file) && mayPass(file.fault) && job.attempts < fileAttempts;
  await db
    .updateTable("service.token_metadata")
    .set({
      ...fileColumns(file),
      ...(again
        ? {
            next_attempt_at: sql<Date | null>`coalesce(next_attempt_at, ${later(file, job.attempts)})`,
            attempts: job.attempts,
          }
        : {}),
    })
    .where("chain_id", "=", job.chainId)
    .where("contract", "=", job.contract)
    .where("token_id", "=", job.tokenId)
    .where("image", "=", image)
    .where("lease_id", "is", null)
    .execute();
}

const shownFileColumns = ["file_type", "file_size", "file_width", "file_height"] as const;
const fileColumnNames = [...shownFileColumns, "file_error"] as const;
const documentColumns = [
  ...(["metadata", "id_in_metadata", "warnings", "raw_cid", "name", "description"] as const),
  ...(["image", "animation_url", "cached_image", "cached_animation"] as const),
  ...shownFileColumns,
] as const;

/** The columns unchanged, or null if the condition holds. */
function without<C extends string>(columns: readonly C[], condition: RawBuilder<unknown>) {
  const kept = columns.map((name) => [name, sql<null>`CASE WHEN ${condition} THEN NULL ELSE ${sql.ref(name)} END`]);
  return Object.fromEntries(kept) as Record<C, RawBuilder<null>>;
}

/** Clears a document without a URI: it is of a token that was burned (`queueReborn`). */
function ofThisLife() {
  return without(documentColumns, sql`token_uri IS NULL`);
}

/** Sets the URI, and clears the document of another URI. @param hash of the bytes at the URI. */
function atUri(uri: string, hash: Buffer | null) {
  const moved = sql`token_uri IS DISTINCT FROM ${uri}`;
  const known = sql<Buffer>`CASE WHEN ${moved} THEN ${hash}::bytea
    WHEN metadata IS NULL THEN coalesce(${hash}::bytea, metadata_hash) ELSE metadata_hash END`;
  return { ...without(documentColumns, moved), token_uri: uri, metadata_hash: known };
}

function fileColumns(file: MediaInformation | Fault | null) {
  const known = file !== null && !isFault(file) ? file : null;
  return {
    file_type: known?.type ?? null,
    file_size: known?.sizeBytes == null ? null : BigInt(known.sizeBytes),
    file_width: known?.width ?? null,
    file_height: known?.height ?? null,
    file_error: fileErrorOf(file),
  };
}

/** Dimensions are only shown with the size in bytes. If the size is unknown, that is why they are missing. */
function fileErrorOf(file: MediaInformation | Fault | null): FaultCode | null {
  if (file === null) return null;
  if (isFault(file)) return file.fault;
  return file.width !== null && file.sizeBytes === null ? "size_unknown" : null;
}

async function keepRaw(db: Kysely<Database>, hash: Buffer, bytes: Uint8Array): Promise<void> {
  await db
    .insertInto("service.raw_document")
    .values({ hash, size_bytes: bytes.byteLength, head: Buffer.from(bytes.subarray(0, rawHeadBytes)) })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

function later(fault: Fault, attempts: number) {
  const ms = retryAfterMs(fault, attempts);
  return ms === null ? sql<Date | null>`NULL::timestamptz` : inSeconds(ms / 1000);
}

/** Releases a job without counting a try. @param delayMs until it is due again. */
export async function releaseToken(db: Kysely<Database>, job: TokenJob, delayMs: number): Promise<void> {
  await leased(db, job)
    .set((eb) => ({
      ...noLease,
      attempts: eb("attempts", "-", 1),
      next_attempt_at: inSeconds(delayMs / 1000),
    }))
    .execute();
}

/** Deletes a token that the index has lost. If it comes back, it is queued like a new one. */
export async function dropToken(db: Kysely<Database>, job: TokenJob): Promise<void> {
  await db.deleteFrom("service.token_metadata").where(held(job)).execute();
}

function leased(db: Kysely<Database>, job: TokenJob) {
  return db.updateTable("service.token_metadata").where(held(job));
}

function held({ chainId, contract, tokenId, leaseId }: TokenJob) {
  return isHeld(queueOf(chainId), { key: [contract, tokenId], lease: leaseId });
}
