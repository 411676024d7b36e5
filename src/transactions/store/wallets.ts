import { type Kysely, sql, type Transaction } from "kysely";
import type { Address, Hash } from "viem";
import type { Chain } from "../../chains.ts";
import { toAddress, toBytes } from "../../db/bytes.ts";
import type { Database } from "../../db/database.ts";

/** The key under which a process remembers a wallet. */
export function nameWallet(chain: Chain, wallet: Address): string {
  return `${chain.id} ${wallet.toLowerCase()}`;
}

export interface RelayerWallet {
  address: Address;
  state: string;
  nextNonce: bigint;
  /** The lowest recovered nonce that is not explained yet. */
  found: bigint | null;
  /** Transactions that are not mined yet. */
  open: number;
  /** The most that those may still cost. */
  reservedWei: bigint;
  /** What the next transaction costs at most, while the wallet is paused for funds. */
  neededWei: bigint;
  /** The request for which the wallet is paused no longer waits for funds. */
  isNeedless: boolean;
}

/** Every wallet that ever got a nonce on a chain. */
export async function listWallets(db: Kysely<Database>, chainId: number): Promise<RelayerWallet[]> {
  const { rows } = await sql<{
    addr: Buffer;
    state: string;
    next_nonce: bigint;
    found: bigint | null;
    open: bigint;
    reserved: string;
    needed: string;
    needless: boolean;
  }>`
    SELECT l.addr, l.state, l.next_nonce, coalesce(l.needed_wei, 0) AS needed,
      l.needed_for IS NOT NULL AND NOT EXISTS (SELECT FROM service.intent i WHERE i.id = l.needed_for
        AND i.state IN ('queued', 'held') AND coalesce(i.hold_reason, 'balance') = 'balance') AS needless,
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
    isNeedless: row.needless,
  }));
}

/** The key of a wallet's row. */
export interface WalletKey {
  chain_id: number;
  addr: Buffer;
}

/** An update of one wallet's row. */
export function updateWallet(db: Kysely<Database>, { chain_id, addr }: WalletKey) {
  return db.updateTable("service.relayer_wallet").where("chain_id", "=", chain_id).where("addr", "=", addr);
}

/** Locks the wallet's row. A new row's counter starts at the wallet's transaction count on the chain. */
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

/**
 * Open transactions, and the most that they may still cost.
 *
 * @param mined the wallet's transaction count in the newest block: lower nonces only wait for our reading of the chain.
 * @param unsignedWei what a nonce without stored bytes may cost: about as much as the next transaction.
 */
export async function openReservations(
  transaction: Transaction<Database>,
  chainId: number,
  addr: Buffer,
  { mined, unsignedWei }: { mined: bigint; unsignedWei: bigint },
) {
  const { rows } = await sql<{ pending: bigint; reserved: string }>`
    SELECT count(*) FILTER (WHERE s.nonce >= ${mined}) AS pending,
      coalesce(sum(coalesce(w.worst, ${unsignedWei}::numeric)), 0) AS reserved
    FROM service.nonce_reservation s, LATERAL (
      SELECT max(a.max_fee * a.gas + a.data_wei) AS worst FROM service.attempt a
      WHERE a.chain_id = s.chain_id AND a.addr = s.addr AND a.nonce = s.nonce) w
    WHERE s.chain_id = ${chainId} AND s.addr = ${addr} AND s.state = 'open'`.execute(transaction);
  const [row] = rows;
  return { pending: Number(row?.pending ?? 0), reservedWei: BigInt(row?.reserved ?? 0) };
}

/** More than this cannot be explained by a lost backup. */
const most = 1_000;

/**
 * Nonces that a wallet has used without a reservation, from its first reservation on; also recovered nonces that are
 * not explained yet.
 *
 * @param count the wallet's transaction count on the chain.
 */
export async function missingNonces(
  db: Kysely<Database>,
  chainId: number,
  addr: Buffer,
  count: bigint,
): Promise<bigint[]> {
  const { rows } = await sql<{ nonce: bigint }>`
    SELECT n AS nonce
    FROM service.relayer_wallet l, generate_series(
      coalesce((SELECT min(s.nonce) FROM service.nonce_reservation s WHERE s.chain_id = l.chain_id AND s.addr = l.addr), l.next_nonce),
      greatest(l.next_nonce, ${count}) - 1) AS n
    WHERE l.chain_id = ${chainId} AND l.addr = ${addr} AND NOT EXISTS (
      SELECT FROM service.nonce_reservation s WHERE s.chain_id = l.chain_id AND s.addr = l.addr AND s.nonce = n
        AND NOT (s.found AND s.intent_id IS NULL AND s.state = 'open'))
      AND n < ${count}
    ORDER BY n LIMIT ${most}`.execute(db);
  return rows.map(({ nonce }) => nonce);
}

/**
 * Reserves, without a request, the nonces between one taken over and those that a wallet knows: they were used, and
 * their rows lost. `importFound` records what used them, once final; a request that comes back takes its nonce over.
 * Of a wallet that lost all rows nobody knows the first nonce, so nothing below the lowest one is reserved.
 *
 * Call it with the wallet's row locked, so that none of these is being assigned, and before the nonce has its own row.
 *
 * @param nextNonce the wallet's counter before it moves past the nonce.
 * @returns how many were reserved.
 */
export async function reserveBetween(
  transaction: Transaction<Database>,
  key: WalletKey,
  nonce: bigint,
  nextNonce: bigint,
): Promise<bigint> {
  const { numAffectedRows } = await sql`
    INSERT INTO service.nonce_reservation (chain_id, addr, nonce, kind, found)
    SELECT ${key.chain_id}, ${key.addr}, n, 'cancellation', true
    FROM (SELECT coalesce(min(s.nonce), ${nextNonce}::bigint) AS lowest FROM service.nonce_reservation s
        WHERE s.chain_id = ${key.chain_id} AND s.addr = ${key.addr}) known,
      generate_series(least(${nonce}::bigint + 1, ${nextNonce}::bigint), greatest(${nonce}::bigint, lowest) - 1) AS n`.execute(
    transaction,
  );
  return numAffectedRows ?? 0n;
}

/** A wallet's row as `lockWallet` reads it. */
interface WalletRow {
  basis: string | null;
  incarnation: string;
  next_nonce: bigint;
}

/**
 * What a process remembers of each relayer wallet and no row has. Losing it costs one round of calls to the endpoints.
 *
 * A wallet is reconciled once blocks and mempools have been read for the nonces that it has in use (`reconcileNonces`).
 * It assigns no nonce before that: at the start of a process, in a database other than the one it was last reconciled
 * in (`service.incarnation()`), and after its counter went back.
 */
export class WalletMemory {
  readonly #next = new Map<string, bigint>();
  readonly #mined = new Map<string, bigint>();
  readonly #preparing = new Map<string, number>();
  readonly #coming = new Map<string, string>();

  isReconciled(name: string, wallet: WalletRow): boolean {
    const known = this.#next.get(name);
    return known !== undefined && wallet.basis === wallet.incarnation && wallet.next_nonce >= known;
  }

  /** The lowest nonce that this process knows to be unused; null for a wallet that it knows nothing of. */
  nextOf(name: string): bigint | null {
    return this.#next.get(name) ?? null;
  }

  /** @param next the wallet's counter from now on. */
  reconciled(name: string, next: bigint): void {
    this.#next.set(name, next);
  }

  /** @param count the wallet's transaction count in the newest block, as an endpoint reports it. */
  sawMined(name: string, count: bigint): void {
    this.#mined.set(name, count);
  }

  /** Known transactions of a wallet that are in no block, plus requests that are being prepared for it. */
  underWay(name: string, nextNonce: bigint): number {
    const mined = this.#mined.get(name) ?? nextNonce;
    const pending = mined < nextNonce ? Number(nextNonce - mined) : 0;
    return pending + (this.#preparing.get(name) ?? 0);
  }

  /** Runs work that leads to the signature of a request that may share a transaction; such requests share a `name`. */
  async coming<T>(name: string, id: string, work: () => Promise<T>): Promise<T> {
    this.#coming.set(id, name);
    try {
      return await work();
    } finally {
      this.#coming.delete(id);
    }
  }

  /** The request is now waiting for its signature. */
  arrived(id: string): void {
    this.#coming.delete(id);
  }

  /** Number of requests of a name that are on their way to a signature. */
  comingOf(name: string): number {
    return [...this.#coming.values()].filter((own) => own === name).length;
  }

  /** Runs work that usually ends with a nonce of the wallet. */
  async preparing<T>(name: string, work: () => Promise<T>): Promise<T> {
    this.#preparing.set(name, (this.#preparing.get(name) ?? 0) + 1);
    try {
      return await work();
    } finally {
      this.#preparing.set(name, (this.#preparing.get(name) ?? 1) - 1);
    }
  }
}
