import { randomBytes } from "node:crypto";
import type { Address } from "viem";
import { toBytes } from "../../src/db/bytes.ts";
import type { IntentState } from "../../src/db/tables/relay.ts";
import type { RelayHarness } from "./harness.ts";

export const toInFlight = ["assigned", "signed", "in_flight"] as const;
export const toMined = [...toInFlight, "mined"] as const;
export const toConfirmed = [...toMined, "confirmed"] as const;

/** Other requests, as rows that are copies of the first one's. */
export async function addQueued(h: RelayHarness, count: number): Promise<string[]> {
  const { rows } = await h.database.pool.query<{ id: string }>(
    `INSERT INTO service.intent (id, root_id, tenant_id, idem_key, req_hash, chain_id, kind, payload, factory, template,
       owner, init_data, salt, predicted_addr)
     SELECT n.id, n.id, o.tenant_id, 'other ' || n.id, o.req_hash, o.chain_id, o.kind, o.payload, o.factory, o.template,
       o.owner, o.init_data, o.salt, substr(o.salt, 1, 20)
     FROM (SELECT * FROM service.intent ORDER BY seq LIMIT 1) o,
       (SELECT gen_random_uuid() AS id FROM generate_series(1, $1)) n
     RETURNING id`,
    [count],
  );
  return rows.map(({ id }) => id);
}

/** By a legal edge. */
export async function moveAll(h: RelayHarness, ids: readonly string[], state: IntentState): Promise<void> {
  await h.database.pool.query("UPDATE service.intent SET state = $2, version = version + 1 WHERE id = ANY ($1)", [
    ids,
    state,
  ]);
}

/**
 * More requests than a round takes of any kind, which went from state to state by the legal edges, at a wallet's next
 * nonces. Nothing was ever sent for them. Unless another one is named, the block of those that are mined lies ahead of
 * the chain, so no node decides about them.
 */
export async function addCrowd(
  h: RelayHarness,
  path: readonly IntentState[],
  wallet: Address,
  { count = 1_200, block = { number: 1_000_000n, hash: randomBytes(32) } } = {},
): Promise<void> {
  const { pool } = h.database;
  const place = [h.node.id, toBytes(wallet)];
  const ids = await addQueued(h, count);
  await pool.query(
    `INSERT INTO service.relayer_wallet (chain_id, addr, genesis_hash, next_nonce)
     SELECT chain_id, $2, genesis_hash, 0 FROM service.relayer_wallet WHERE chain_id = $1 LIMIT 1 ON CONFLICT DO NOTHING`,
    place,
  );
  await pool.query(
    `WITH wallet AS (
       UPDATE service.relayer_wallet SET next_nonce = next_nonce + $3 WHERE (chain_id, addr) = ($1, $2) RETURNING next_nonce)
     INSERT INTO service.nonce_reservation (chain_id, addr, nonce, intent_id, kind)
     SELECT $1, $2, wallet.next_nonce - n.place, n.id, 'deploy'
     FROM wallet, unnest($4::uuid[]) WITH ORDINALITY AS n (id, place)`,
    [...place, count, ids],
  );
  for (const state of path) await moveAll(h, ids, state);
  if (path.includes("mined"))
    await pool.query(
      `UPDATE service.nonce_reservation SET state = 'mined', mined_block = $2, mined_block_hash = $3, mined_attempt = $3
       WHERE intent_id = ANY ($1)`,
      [ids, block.number, block.hash],
    );
}
