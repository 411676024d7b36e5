import { type Kysely, sql, type Transaction } from "kysely";
import type { Address, Hash, Hex } from "viem";
import type { Chain } from "../../chains.ts";
import { toAddress, toBytes } from "../../db/bytes.ts";
import type { Database } from "../../db/database.ts";
import type { CallKind } from "../../db/tables/relay.ts";
import { askNode } from "../../rpc/nodes.ts";
import type { RelayContext } from "../chain/context.ts";
import { findNonces } from "../chain/find-nonces.ts";
import { type ContentKind, kindOfContent, rootOf } from "../chain/own-content.ts";
import { type PoolTransaction, readPendingNonces } from "../chain/pending-nonces.ts";
import { lockWallet, nameWallet, updateWallet } from "../store/wallets.ts";

/** Why a wallet assigns no nonce. */
interface Unready {
  reason: string;
  /** Trying again in a moment helps. */
  soon: boolean;
}

/** Maximum mined transactions that are read before the wallet goes on: each takes a few dozen calls to a node. */
const mostRead = 50;

/**
 * Asks blocks and mempools which nonces of a wallet are in use, and moves its counter past them. A nonce that this
 * database does not know gets a reservation without a request, so a nonce lost in a failover or a restore is not
 * assigned to another request. `resubmitFound` follows its transaction.
 *
 * @returns null when the wallet may go on.
 * @throws ServiceError `service_unavailable` while no endpoint answers.
 */
export async function reconcileNonces(services: RelayContext, chain: Chain, wallet: Address): Promise<Unready | null> {
  const pending = await askNode(chain, () => readPendingNonces(services, chain, wallet));
  if (!pending)
    return { reason: "the endpoints do not agree on which nonces of the paying wallet are in use", soon: true };
  const { genesisHash } = await services.relay.factory(chain);
  const addr = toBytes(wallet);
  const before = await services.db
    .selectFrom("service.relayer_wallet")
    .select("next_nonce")
    .where("chain_id", "=", chain.id)
    .where("addr", "=", addr)
    .executeTakeFirst();
  const first = before?.next_nonce ?? pending.mined;
  const mined = range(first, pending.mined);
  const found = new Map<bigint, PoolTransaction>(pending.transactions);
  // A long backlog is read once it is final, page by page (`importFound`).
  const readable = mined.length <= mostRead ? mined : [];
  for (const { raw, ...sent } of readable.length > 0 ? await findNonces(services, chain, wallet, readable) : [])
    if (raw) found.set(sent.nonce, { ...sent, raw });
    else return external(services, chain, wallet, sent.nonce);
  const unknown = range(first, pending.next).map((nonce): Found => {
    const sent = found.get(nonce) ?? null;
    return { nonce, sent, kind: sent ? kindOfContent(chain, wallet, sent) : "cancellation" };
  });
  const strange = unknown.find(({ kind }) => kind === "external");
  if (strange) return external(services, chain, wallet, strange.nonce);
  const next = await services.db.transaction().execute(async (transaction) => {
    const walletRow = await lockWallet(transaction, chain.id, addr, pending.mined, genesisHash);
    const missing = unknown.filter(({ nonce }) => nonce >= walletRow.next_nonce);
    for (const { nonce, sent, kind } of missing)
      if (sent && (kind === "deploy" || kind === "operate"))
        await recordSentElsewhere(services, transaction, chain, wallet, { ...sent, nonce, kind });
    for (const item of missing) await reserve(transaction, { chain_id: chain.id, addr }, item);
    const nextNonce = missing.length > 0 ? pending.next : walletRow.next_nonce;
    await updateWallet(transaction, { chain_id: chain.id, addr })
      .set({
        basis: walletRow.incarnation,
        next_nonce: nextNonce,
        ...(walletRow.basis === walletRow.incarnation ? {} : { basis_at: sql<Date>`clock_timestamp()` }),
      })
      .execute();
    if (missing.length > 0)
      services.log.warn(
        { chain: chain.name, wallet, nonces: missing.map(({ nonce, kind }) => `${nonce} ${kind}`) },
        "nonces in use that the database does not know: it was restored or lost its end; they are kept for what uses them",
      );
    return nextNonce;
  });
  services.relay.wallets.reconciled(nameWallet(chain, wallet), next);
  return null;
}

/** Whether a wallet's nonces in use have to be read first; `signNext` checks the same with the row locked. */
export async function needsReconcile(services: RelayContext, chain: Chain, wallet: Address): Promise<boolean> {
  const walletRow = await services.db
    .selectFrom("service.relayer_wallet")
    .select(["basis", "next_nonce", sql<string>`service.incarnation()`.as("incarnation")])
    .where("chain_id", "=", chain.id)
    .where("addr", "=", toBytes(wallet))
    .executeTakeFirst();
  return walletRow !== undefined && !services.relay.wallets.isReconciled(nameWallet(chain, wallet), walletRow);
}

interface Found {
  nonce: bigint;
  /** Null: an endpoint counts it, but none shows it. */
  sent: PoolTransaction | null;
  kind: ContentKind;
}

function external(services: RelayContext, chain: Chain, wallet: Address, nonce: bigint): Unready {
  services.log.error({ chain: chain.name, wallet, nonce }, "the paying wallet signed what this service never signs");
  return { reason: "the wallet sent transactions that are not ours; an operator has to look", soon: false };
}

async function reserve(
  transaction: Transaction<Database>,
  key: { chain_id: number; addr: Buffer },
  { nonce, sent, kind }: Found,
): Promise<void> {
  const found_root = sent && (kind === "deploy" || kind === "operate") ? rootOf(sent.data) : null;
  await transaction
    .insertInto("service.nonce_reservation")
    .values({
      ...key,
      nonce,
      intent_id: null,
      kind: kind === "external" ? "cancellation" : kind,
      found: true,
      found_root,
    })
    .execute();
  if (sent) await keepFoundBytes(transaction, key, sent);
}

/** Stores bytes that were recovered at one of our nonces: they are evidence, and may be sent again. */
export async function keepFoundBytes(
  transaction: Transaction<Database>,
  key: { chain_id: number; addr: Buffer },
  sent: Pick<PoolTransaction, "nonce" | "hash" | "raw" | "gas" | "maxFeePerGas" | "maxPriorityFeePerGas">,
): Promise<void> {
  await transaction
    .insertInto("service.attempt")
    .values({
      ...key,
      nonce: sent.nonce,
      hash: toBytes(sent.hash),
      kind: "imported",
      raw: toBytes(sent.raw),
      max_fee: sent.maxFeePerGas,
      tip: sent.maxPriorityFeePerGas,
      gas: sent.gas,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

function range(from: bigint, to: bigint): bigint[] {
  const numbers: bigint[] = [];
  for (let number = from; number < to; number += 1n) numbers.push(number);
  return numbers;
}

/**
 * Endpoints do not always show every transaction in a mempool: for this long after a restore, a mined transaction may
 * still be one of our own whose rows were lost.
 */
const restoreMinutes = { local: 0, elsewhere: 10 };

export const sharedWalletAction =
  "another installation uses this wallet: give each installation a wallet of its own; see docs/relayer.md";

/** A transaction of a relayer wallet whose content this service signs. */
interface SentElsewhere {
  nonce: bigint;
  hash: Hash;
  kind: CallKind;
  data: Hex;
}

/**
 * Records a transaction at a nonce that this database did not assign as another installation's, unless the database may
 * have forgotten it: in a restored or copied one, until its wallets' nonces have been read again and for some minutes
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
  // If this process knows of higher nonces than the row, the row was restored to an older state.
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

interface SharedWallet {
  chainId: number;
  wallet: Address;
  /** Number of transactions seen from other installations. */
  transactions: number;
  last: Date;
}

/** Relayer wallets that other installations have used. */
export async function listSharedWallets(db: Kysely<Database>): Promise<SharedWallet[]> {
  const rows = await db
    .selectFrom("service.external_transaction")
    // An explained one belongs to a request that was lost here and is known again.
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
