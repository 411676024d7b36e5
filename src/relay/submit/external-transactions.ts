import { type Kysely, sql, type Transaction } from "kysely";
import type { Address, Hash, Hex } from "viem";
import type { Chain } from "../../chains.ts";
import { toAddress, toBytes } from "../../db/bytes.ts";
import type { Database } from "../../db/database.ts";
import type { CallKind } from "../../db/tables/relay.ts";
import type { RelayContext } from "../chain/context.ts";
import { rootOf } from "../chain/own-content.ts";
import { nameWallet } from "../store/wallets.ts";

/**
 * Endpoints do not always show what waits in a mempool: so long after a restore what is mined may still be a
 * transaction of our own whose rows were lost.
 */
const restoreMinutes = { local: 0, elsewhere: 10 };

export const sharedWalletAction =
  "another installation uses this wallet: give each installation a wallet of its own; see docs/relayer.md";

/** A transaction of a paying wallet that this service signs by its content. */
export interface SentElsewhere {
  nonce: bigint;
  hash: Hash;
  kind: CallKind;
  data: Hex;
}

/**
 * Notes a transaction at a nonce that this database did not give out as another installation's, unless the database may
 * have forgotten it: in one that was restored or copied, until its wallets' nonces were asked for again and some minutes
 * longer. Call it before the nonce gets its reservation and before `basis` of the wallet's row changes.
 */
export async function recordSentElsewhere(
  services: RelayContext,
  db: Transaction<Database>,
  chain: Chain,
  wallet: Address,
  sent: SentElsewhere,
): Promise<void> {
  const minutes = chain.local ? restoreMinutes.local : restoreMinutes.elsewhere;
  const root = sent.kind === "update" ? null : rootOf(sent.data);
  const addr = toBytes(wallet);
  // Where this process knows of higher nonces than the row, the row was put back to an older state.
  const known = services.relay.wallets.nextOf(nameWallet(chain, wallet)) ?? 0n;
  const { rows } = await sql`
    INSERT INTO service.external_transaction (chain_id, addr, nonce, hash, kind, root_id)
    SELECT l.chain_id, l.addr, ${sent.nonce}, ${toBytes(sent.hash)}, ${sent.kind}, ${root}::uuid
    FROM service.relayer_wallet l
      LEFT JOIN service.nonce_reservation s ON s.chain_id = l.chain_id AND s.addr = l.addr AND s.nonce = ${sent.nonce}
    WHERE l.chain_id = ${chain.id} AND l.addr = ${addr} AND l.basis = service.incarnation() AND l.next_nonce >= ${known}
      AND coalesce(s.created_at, clock_timestamp()) > l.basis_at + make_interval(mins => ${minutes})
      AND NOT EXISTS (SELECT FROM service.intent i WHERE i.root_id = ${root}::uuid)
    ON CONFLICT DO NOTHING RETURNING nonce`.execute(db);
  if (rows.length === 0) return;
  services.log.error(
    { chain: chain.name, wallet, nonce: sent.nonce, hash: sent.hash, deployment: root, action: sharedWalletAction },
    "two installations use one paying wallet",
  );
}

export interface SharedWallet {
  chainId: number;
  wallet: Address;
  /** Transactions that other installations sent, as far as they were noticed. */
  transactions: number;
  last: Date;
}

/** The wallets that other installations have used. */
export async function listSharedWallets(db: Kysely<Database>): Promise<SharedWallet[]> {
  const rows = await db
    .selectFrom("service.external_transaction")
    // The request of one that is explained was lost here, and is known again.
    .where("explained", "=", false)
    .select(["chain_id", "addr"])
    .select(({ fn }) => [fn.countAll<bigint>().as("transactions"), fn.max("seen_at").as("last")])
    .groupBy(["chain_id", "addr"])
    .execute();
  return rows.map(({ chain_id, addr, transactions, last }) => ({
    chainId: chain_id,
    wallet: toAddress(addr),
    transactions: Number(transactions),
    last,
  }));
}
