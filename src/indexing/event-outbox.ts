import type pg from "pg";
import { type Fields, quantityOf } from "./header.ts";
import { inTransaction } from "./nft-views.ts";
import type { RpcGateway } from "./rpc-gateway.ts";

/**
 * Their names do not begin with `derive_`: when a range is listed late its rows are written again with all other
 * triggers off, and those movements were published before (schema/range-later.ts).
 */
const triggers = [
  { name: "tell_added", operation: "INSERT", rows: "NEW" },
  { name: "tell_removed", operation: "DELETE", rows: "OLD" },
] as const;

/** The most blocks that one statement publishes as final or safe. */
const maxBlocks = 5_000n;

/**
 * From now on each row of the ledger is published as an event (schema/migrations/0320_events.sql). Call it when the
 * index has caught up: rows before that are backfill, and no news.
 *
 * After a restart of Ponder it also ends what `beginSettling` began: rows that did not come back become retractions.
 */
export async function attachOutbox(
  client: pg.Client,
  { schema, chainId }: { schema: string; chainId: number },
): Promise<void> {
  // Blocks that are already final are not published.
  await client.query(
    `INSERT INTO service.event_index (schema_name, chain_id, safe_block, final_block)
     SELECT $1, $2, final, final FROM (SELECT coalesce(max(substr(finalized_checkpoint, 27, 16)::bigint), 0) AS final
       FROM "${schema}"._ponder_checkpoint) c
     ON CONFLICT (schema_name) DO NOTHING`,
    [schema, chainId],
  );
  await createTriggers(client, schema);
  await inTransaction(client, async () => {
    await client.query("UPDATE service.event_index SET settling = false WHERE schema_name = $1 AND settling", [schema]);
    await client.query("SELECT service.tell_withdrawn($1, NULL)", [schema]);
  });
}

async function createTriggers(client: pg.Client, schema: string): Promise<void> {
  for (const { name, operation, rows } of triggers) {
    const { rowCount } = await client.query("SELECT FROM pg_trigger WHERE tgrelid = $1::regclass AND tgname = $2", [
      `"${schema}".transfer`,
      name,
    ]);
    if (rowCount) continue;
    await client.query(`CREATE TRIGGER ${name} AFTER ${operation} ON "${schema}".transfer REFERENCING ${rows} TABLE AS rows
      FOR EACH STATEMENT EXECUTE FUNCTION service.${name}()`);
  }
}

/**
 * Call it before each start of Ponder, which deletes the rows above its safe checkpoint and writes them again. Until
 * `attachOutbox` a row that is deleted and comes back is no event.
 */
export async function beginSettling(client: pg.Client, schema: string): Promise<void> {
  await client.query("UPDATE service.event_index SET settling = true WHERE schema_name = $1", [schema]);
}

/**
 * Publishes the differences between an index and the one that replaces it, in the transaction of the switch.
 *
 * @param schema the newer index; Ponder's writes to it wait until the transaction ends.
 */
export async function switchOutbox(client: pg.Client, chainId: number, schema: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT i.schema_name AS name FROM service.event_index i JOIN nft.index_version d USING (schema_name)
     WHERE d.live AND d.chain_id = $1 AND i.schema_name <> $2`,
    [chainId, schema],
  );
  const [old] = rows;
  if (!old) return;
  await createTriggers(client, schema);
  await client.query(`LOCK TABLE "${schema}".transfer IN SHARE ROW EXCLUSIVE MODE`);
  await client.query("SELECT service.switch_event_index($1, $2)", [old.name, schema]);
}

/** Publishes which blocks became final and, where a client wants it, safe. */
export async function tellSettled(client: pg.Client, gateway: RpcGateway, schema: string): Promise<void> {
  const { rows } = await client.query<{
    told_final: string;
    told_safe: string;
    final: string | null;
    hash: string | null;
    head: string | null;
    safe_wanted: boolean;
  }>(
    `SELECT i.final_block::text AS told_final, i.safe_block::text AS told_safe, d.final_block::text AS final,
       d.final_hash AS hash, (SELECT substr(latest_checkpoint, 27, 16)::bigint::text FROM "${schema}"._ponder_checkpoint) AS head,
       EXISTS (SELECT FROM service.event_interest e WHERE e.chain_id = i.chain_id AND e.finality = 'safe'
         AND e.expires_at > clock_timestamp()) AS safe_wanted
     FROM service.event_index i JOIN nft.index_version d USING (schema_name) WHERE i.schema_name = $1 AND d.live`,
    [schema],
  );
  const [row] = rows;
  if (!row) return;
  const tell = async (level: string, first: bigint, last: bigint, hash: string | null) => {
    for (let upto = first; upto < last; ) {
      upto = last - upto > maxBlocks ? upto + maxBlocks : last;
      await client.query("SELECT service.tell_settled($1, $2, $3, $4)", [
        schema,
        level,
        String(upto),
        upto === last ? hash : null,
      ]);
    }
  };
  if (row.safe_wanted && row.head !== null) {
    const safe = await readSafeBlock(gateway);
    const head = BigInt(row.head);
    if (safe !== null) await tell("safe", BigInt(row.told_safe), safe < head ? safe : head, null);
  }
  if (row.final !== null) await tell("finalized", BigInt(row.told_final), BigInt(row.final), row.hash);
}

/** The newest block called safe; null if the chain's nodes do not know the tag: then only final blocks are safe. */
async function readSafeBlock(gateway: RpcGateway): Promise<bigint | null> {
  try {
    const block = await gateway.request("eth_getBlockByNumber", ["safe", false]);
    return quantityOf((block as Fields | null)?.["number"]);
  } catch {
    return null;
  }
}

/** Publishes an event for operators. */
export async function recordStall(client: pg.Client, chainId: number, chain: string): Promise<void> {
  await client.query(
    `SELECT service.record_event('index.stalled', $1::text || ':' || extract(epoch FROM clock_timestamp()), NULL, true, $1::integer,
       NULL, NULL, json_build_object('chain', $2::text))`,
    [chainId, chain],
  );
}
