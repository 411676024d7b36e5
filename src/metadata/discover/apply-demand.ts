import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Database } from "../../db/database.ts";
import { withheldContracts, withheldToken } from "../../db/withheld-token.ts";
import { type DemandKind, triedAgainAfter } from "./metadata-demand.ts";

/** Demands that one round handles. */
const most = 500;
/** Tokens of a list that one demand queues: more than the largest page has. */
const perList = 200;
/**
 * Tokens of one collection that one round queues, and the most of all collections that wait at a time. Reading a large
 * collection takes hours of work, and thousands of demands must not add up. The rest follows as the queue empties.
 */
const usualBounds = { portion: 1_000, waiting: 5_000 };
interface Demand {
  kind: DemandKind;
  address: Buffer;
  token_id: string;
}

/**
 * Queues what clients requested (`metadata-demand.ts`): a requested token before everything else, then the tokens of a
 * list, then all tokens of a collection.
 *
 * @returns whether there was any demand.
 */
export async function applyDemand(
  db: Kysely<Database>,
  chainId: number,
  bounds: Readonly<typeof usualBounds> = usualBounds,
): Promise<boolean> {
  const { rows: demands } = await sql<Demand>`
    DELETE FROM service.metadata_demand l USING (
      SELECT kind, address, token_id FROM service.metadata_demand WHERE chain_id = ${chainId} LIMIT ${most} FOR UPDATE SKIP LOCKED
    ) d WHERE l.chain_id = ${chainId} AND l.kind = d.kind AND l.address = d.address AND l.token_id = d.token_id
    RETURNING l.kind, l.address, l.token_id`.execute(db);
  const of = (kind: DemandKind) => demands.filter((demand) => demand.kind === kind);
  await queueTokens(db, chainId, of("token"));
  for (const { address } of of("account")) await queueHeld(db, chainId, address);
  if (of("chain").length > 0) await queueNewest(db, chainId);
  await recordContracts(
    db,
    chainId,
    of("contract").map(({ address }) => address),
  );
  await queueDemanded(db, chainId, bounds);
  return demands.length > 0;
}

/**
 * Whether a contract is an ERC-20 whose logs look like ERC-721's. Its tokens are skipped, until the indexer has left
 * them out of the index.
 */
export function isFungible(chainId: number, contract: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql`EXISTS (SELECT FROM service.contract_metadata e
    WHERE e.chain_id = ${chainId} AND e.address = ${contract} AND e.fungible AND NOT EXISTS (SELECT FROM nft.contracts b
      WHERE b.chain_id = ${chainId} AND b.address = ${contract} AND b.standard = 'ERC1155'))`;
}

async function queueTokens(db: Kysely<Database>, chainId: number, tokens: readonly Demand[]): Promise<void> {
  if (tokens.length === 0) return;
  await sql`
    INSERT INTO service.token_metadata AS m (chain_id, contract, token_id, priority)
    SELECT ${chainId}, l.contract, l.token_id, 0
    FROM unnest(${tokens.map(({ address }) => address)}::bytea[], ${tokens.map((demand) => demand.token_id)}::numeric[])
      AS l (contract, token_id)
    WHERE NOT ${isFungible(chainId, sql`l.contract`)} AND (EXISTS (SELECT FROM nft.tokens t
        WHERE t.chain_id = ${chainId} AND t.contract = l.contract AND t.token_id = l.token_id)
      OR EXISTS (SELECT FROM ${sql.raw(withheldToken({ chainId: String(chainId), contract: "l.contract", tokenId: "l.token_id" }))} w))
    ORDER BY l.contract, l.token_id
    ON CONFLICT (chain_id, contract, token_id) DO UPDATE SET priority = 0, next_attempt_at = clock_timestamp()
    WHERE (m.status = 'pending' AND m.attempts = 0 AND m.priority > 0)
      OR (m.status = 'failed' AND m.next_attempt_at IS NULL AND m.attempted_at < clock_timestamp() - ${triedAgainAfter}::interval)
  `.execute(db);
}

/** The first tokens of an account that were never queued: the rest follows page by page. */
async function queueHeld(db: Kysely<Database>, chainId: number, account: Buffer): Promise<void> {
  await sql`
    INSERT INTO service.token_metadata (chain_id, contract, token_id, priority)
    SELECT ${chainId}, h.contract, h.token_id, 1 FROM nft.holding_rows h
    WHERE h.chain_id = ${chainId} AND h.owner = ${account} AND h.amount > 0
      AND NOT ${isFungible(chainId, sql`h.contract`)} AND NOT EXISTS (
      SELECT FROM service.token_metadata m
      WHERE m.chain_id = ${chainId} AND m.contract = h.contract AND m.token_id = h.token_id)
    ORDER BY h.contract, h.token_id LIMIT ${perList}
    ON CONFLICT DO NOTHING`.execute(db);
}

async function queueNewest(db: Kysely<Database>, chainId: number): Promise<void> {
  await sql`
    INSERT INTO service.token_metadata (chain_id, contract, token_id, priority)
    SELECT ${chainId}, t.contract, t.token_id, 1 FROM (
      SELECT contract, token_id FROM nft.tokens
      WHERE chain_id = ${chainId} AND mint_block IS NOT NULL AND supply > 0
      ORDER BY mint_block DESC, mint_log_index DESC, mint_batch_index DESC LIMIT ${perList}) t
    ON CONFLICT DO NOTHING`.execute(db);
}

/** From now on all tokens of these contracts are read. */
export async function recordContracts(
  db: Kysely<Database>,
  chainId: number,
  contracts: readonly Buffer[],
): Promise<void> {
  if (contracts.length === 0) return;
  await sql`
    INSERT INTO service.contract_metadata AS c (chain_id, address, demanded_at)
    SELECT n.chain_id, n.address, clock_timestamp() FROM (
      SELECT chain_id, address FROM nft.contracts WHERE chain_id = ${chainId} AND address = ANY (${contracts}::bytea[])
      UNION
      SELECT chain_id, address FROM ${sql.raw(withheldContracts)} w
      WHERE w.chain_id = ${chainId} AND w.address = ANY (${contracts}::bytea[])) n ORDER BY n.address
    ON CONFLICT (chain_id, address) DO UPDATE SET demanded_at = excluded.demanded_at WHERE c.demanded_at IS NULL`.execute(
    db,
  );
}

async function queueDemanded(
  db: Kysely<Database>,
  chainId: number,
  bounds: Readonly<typeof usualBounds>,
): Promise<void> {
  const waiting = await db
    .selectFrom("service.contract_metadata")
    .select("address")
    .where("chain_id", "=", chainId)
    .where("demanded_at", "is not", null)
    .where("queued_at", "is", null)
    // In random order, so that a large one does not take every turn.
    .orderBy(sql`random()`)
    .limit(most)
    .execute();
  if (waiting.length === 0) return;
  let room = bounds.waiting - (await countWaiting(db, chainId, bounds.waiting));
  for (const { address } of waiting) {
    const portion = Math.min(bounds.portion, room);
    if (portion <= 0) return;
    const queued = await queueContract(db, chainId, address, portion);
    room -= queued;
    if (queued === portion) continue;
    await db
      .updateTable("service.contract_metadata")
      .set({ queued_at: sql<Date>`clock_timestamp()` })
      .where("chain_id", "=", chainId)
      .where("address", "=", address)
      .execute();
  }
}

/** Number of tokens that wait because their collections were requested. */
async function countWaiting(db: Kysely<Database>, chainId: number, atMost: number): Promise<number> {
  const { rows } = await sql<{ waiting: number }>`
    SELECT count(*)::int AS waiting FROM (
      SELECT FROM service.token_metadata
      WHERE chain_id = ${chainId} AND priority = 2 AND next_attempt_at IS NOT NULL AND status = 'pending' LIMIT ${atMost}) w`.execute(
    db,
  );
  return rows[0]?.waiting ?? 0;
}

async function queueContract(
  db: Kysely<Database>,
  chainId: number,
  contract: Buffer,
  portion: number,
): Promise<number> {
  const { numAffectedRows } = await sql`
    INSERT INTO service.token_metadata (chain_id, contract, token_id, priority)
    SELECT t.chain_id, t.contract, t.token_id, 2 FROM nft.tokens t
    WHERE t.chain_id = ${chainId} AND t.contract = ${contract} AND t.supply > 0 AND NOT EXISTS (
      SELECT FROM service.token_metadata m
      WHERE m.chain_id = ${chainId} AND m.contract = t.contract AND m.token_id = t.token_id)
    ORDER BY t.token_id LIMIT ${portion}
    ON CONFLICT DO NOTHING`.execute(db);
  return Number(numAffectedRows ?? 0n);
}
