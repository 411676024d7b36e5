import type { Address, Hash } from "viem";
import type { Chain } from "../../chains.ts";
import { toBytes } from "../../db/bytes.ts";
import type { RelayContext } from "../chain/context.ts";
import { findNonces, type SentTransaction } from "../chain/find-nonces.ts";
import { askNode } from "../chain/node-failure.ts";
import { type ContentKind, isOwnCollection, kindOfContent, rootOf } from "../chain/own-content.ts";
import { costOf } from "../chain/reads.ts";
import { lockWallet, missingNonces } from "../store/wallets.ts";
import { recordSentElsewhere } from "../submit/external-transactions.ts";
import { keepFoundBytes } from "../submit/reconcile-nonces.ts";

/** A nonce that the chain has and the database had not. */
export interface FoundNonce {
  nonce: bigint;
  hash: Hash;
  kind: ContentKind;
  /** What the paying wallets may sign: so it was us, and the database has forgotten it. */
  explained: boolean;
}

/**
 * Records each transaction of a wallet that the chain has and the database forgot: its nonce gets a reservation that is
 * mined, with the intent id that it deployed. The request that it belongs to takes it over (`importDeployment`), now or
 * when its client asks again. The wallet goes on behind them; what is not ours by content closes it.
 *
 * @param count the wallet's transactions up to the block that is looked at.
 * @param acceptExternal nonces used by other transactions are recorded as such and passed over, on a person's word.
 * @returns the nonces that were missing, ascending.
 */
export async function importFound(
  services: RelayContext,
  chain: Chain,
  wallet: Address,
  { count, acceptExternal = false }: { count: bigint; acceptExternal?: boolean },
): Promise<FoundNonce[]> {
  const addr = toBytes(wallet);
  const missing = await missingNonces(services.db, chain.id, addr, count);
  const sent = missing.length > 0 ? await findNonces(services, chain, wallet, missing) : [];
  if (sent.length < missing.length) throw new Error(`${missing.length - sent.length} nonces were not found; try again`);
  const found: { kind: ContentKind; transaction: SentTransaction }[] = [];
  for (const transaction of sent)
    found.push({ kind: await kindOnChain(services, chain, wallet, transaction), transaction });
  const closed = found.some(({ kind }) => kind === "external") && !acceptExternal;
  const { genesisHash } = await services.relay.factory(chain);
  await services.db.transaction().execute(async (db) => {
    const walletRow = await lockWallet(db, chain.id, addr, count, genesisHash);
    const key = { chain_id: chain.id, addr };
    for (const { kind, transaction } of found)
      if (kind !== "cancellation" && kind !== "external")
        await recordSentElsewhere(services, db, chain, wallet, { ...transaction, kind });
    for (const { kind, transaction } of closed ? [] : found) {
      const reservation =
        kind === "external"
          ? ({ kind: "cancellation", state: "external" } as const)
          : ({ kind, state: "mined", ...minedBy(transaction) } as const);
      await db
        .insertInto("service.nonce_reservation")
        .values({
          ...key,
          nonce: transaction.nonce,
          found: true,
          ...reservation,
          found_root: rootOf(transaction.data),
        })
        .onConflict((conflict) =>
          conflict
            .columns(["chain_id", "addr", "nonce"])
            .doUpdateSet({ ...reservation, found_root: rootOf(transaction.data) })
            // A request may have claimed it meanwhile, and follows it by itself.
            .where("service.nonce_reservation.intent_id", "is", null)
            .where("service.nonce_reservation.state", "=", "open"),
        )
        .execute();
      if (kind !== "external" && transaction.raw)
        await keepFoundBytes(db, key, { ...transaction, raw: transaction.raw });
    }
    const next = closed || walletRow.next_nonce > count ? walletRow.next_nonce : count;
    await db
      .updateTable("service.relayer_wallet")
      .set({ next_nonce: next, ...(closed ? { state: "reconcile" } : {}) })
      .where("chain_id", "=", chain.id)
      .where("addr", "=", addr)
      .where("state", "!=", "halted")
      .execute();
    if (closed) return;
    await db
      .updateTable("service.relayer_wallet")
      .set({ state: "open" })
      .where("chain_id", "=", chain.id)
      .where("addr", "=", addr)
      .where("state", "=", "reconcile")
      .execute();
  });
  if (found.length > 0)
    services.log.warn(
      { chain: chain.name, wallet, found: found.length, closed },
      "a wallet was reconciled with its chain",
    );
  return found.map(({ kind, transaction: { nonce, hash } }) => ({ nonce, hash, kind, explained: kind !== "external" }));
}

/** What a mined transaction of a wallet is, with everything that the database and the chain know. */
export async function kindOnChain(
  services: RelayContext,
  chain: Chain,
  wallet: Address,
  sent: SentTransaction,
): Promise<ContentKind> {
  const kind = kindOfContent(chain, wallet, sent);
  if (kind !== "update" || !sent.to) return kind;
  const target = sent.to;
  return (await askNode(chain, () => isOwnCollection(services, chain, target))) ? kind : "external";
}

function minedBy({ receipt, hash, maxFeePerGas }: SentTransaction) {
  return {
    mined_block: receipt.blockNumber,
    mined_block_hash: toBytes(receipt.blockHash),
    mined_attempt: toBytes(hash),
    mined_cost_wei: costOf(receipt, maxFeePerGas),
  };
}
