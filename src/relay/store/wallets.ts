import type { Kysely, Transaction } from "kysely";
import { sql } from "kysely";
import type { Address, Hash } from "viem";
import type { Chain } from "../../chains.ts";
import { toAddress, toBytes } from "../../db/bytes.ts";
import type { Database } from "../../db/database.ts";

/** What a process remembers of a wallet goes by this name. */
export function nameWallet(chain: Chain, wallet: Address): string {
  return `${chain.id} ${wallet.toLowerCase()}`;
}

export interface RelayerWallet {
  address: Address;
  state: string;
  nextNonce: bigint;
  /** The lowest nonce that was found in use and is not explained yet. */
  found: bigint | null;
  /** Transactions that are not mined yet. */
  open: number;
  /** What those could at worst still cost. */
  reservedWei: bigint;
  /** What the next transaction needs, while the wallet is paused for funds. */
  neededWei: bigint;
}

/** Every wallet that was ever given a nonce on a chain. */
export async function listWallets(db: Kysely<Database>, chainId: number): Promise<RelayerWallet[]> {
  const { rows } = await sql<{
    addr: Buffer;
    state: string;
    next_nonce: bigint;
    found: bigint | null;
    open: bigint;
    reserved: string;
    needed: string;
  }>`
    SELECT l.addr, l.state, l.next_nonce, coalesce(l.needed_wei, 0) AS needed,
      min(o.nonce) FILTER (WHERE o.unclaimed) AS found, count(o.nonce) AS open, coalesce(sum(o.worst), 0) AS reserved
    FROM service.relayer_wallet l
    LEFT JOIN LATERAL (
      -- A nonce whose bytes are not stored yet may cost what the next one needs.
      SELECT s.nonce, s.found AND s.intent_id IS NULL AS unclaimed, coalesce((SELECT max(a.max_fee * a.gas + a.data_wei) FROM service.attempt a
        WHERE a.chain_id = s.chain_id AND a.addr = s.addr AND a.nonce = s.nonce), l.needed_wei) AS worst
      FROM service.nonce_reservation s WHERE s.chain_id = l.chain_id AND s.addr = l.addr AND s.state = 'open') o ON true
    WHERE l.chain_id = ${chainId}
    GROUP BY l.chain_id, l.addr`.execute(db);
  return rows.map((row) => ({
    address: toAddress(row.addr),
    state: row.state,
    nextNonce: row.next_nonce,
    found: row.found,
    open: Number(row.open),
    reservedWei: BigInt(row.reserved),
    neededWei: BigInt(row.needed),
  }));
}

/** The wallet's row, locked; its counter starts where the chain's own count stands when it is first made. */
export async function lockWallet(
  transaction: Transaction<Database>,
  chainId: number,
  addr: Buffer,
  firstNonce: bigint,
  genesisHash: Hash,
) {
  const select = transaction
    .selectFrom("service.relayer_wallet")
    .selectAll()
    .select(sql<string>`service.incarnation()`.as("incarnation"))
    .where("chain_id", "=", chainId)
    .where("addr", "=", addr)
    .forUpdate();
  const known = await select.executeTakeFirst();
  if (known) return known;
  await transaction
    .insertInto("service.relayer_wallet")
    .values({ chain_id: chainId, addr, genesis_hash: toBytes(genesisHash), next_nonce: firstNonce })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return await select.executeTakeFirstOrThrow();
}
