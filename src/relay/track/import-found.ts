import type { Address, Hash } from "viem";
import type { Chain } from "../../chains.ts";
import type { RelayContext } from "../chain/context.ts";
import { findNonces, type SentTransaction } from "../chain/find-nonces.ts";
import { askNode } from "../chain/node-failure.ts";
import { type ContentKind, isOwnCollection, kindOfContent, rootOf } from "../chain/own-content.ts";
import { toBytes } from "../store/bytes.ts";
import { missingNonces } from "../store/nonce-gaps.ts";
import { costOf } from "../store/nonces.ts";
import { lockLane } from "../store/wallets.ts";
import { noteSentElsewhere } from "../submit/external-transactions.ts";
import { keepFoundBytes } from "../submit/take-basis.ts";

/** A nonce that the chain has and the database had not. */
export interface FoundNonce {
  nonce: bigint;
  hash: Hash;
  kind: ContentKind;
  /** What the paying wallets may sign: so it was us, and the database has forgotten it. */
  explained: boolean;
}

/**
 * Notes each transaction of a wallet that the chain has and the database forgot: its nonce gets a reservation that is
 * mined, with the intent id that it deployed. The request that it belongs to takes it over (`adoptDeployment`), now or
 * when its client asks again. The wallet goes on behind them; what is not ours by content closes it.
 *
 * @param count the wallet's transactions up to the block that is looked at.
 * @param acceptForeign nonces used by other transactions are noted as such and passed over, on a person's word.
 * @returns the nonces that were missing, ascending.
 */
export async function importFound(
  services: RelayContext,
  chain: Chain,
  wallet: Address,
  { count, acceptForeign = false }: { count: bigint; acceptForeign?: boolean },
): Promise<FoundNonce[]> {
  const addr = toBytes(wallet);
  const missing = await missingNonces(services.db, chain.id, addr, count);
  const sent = missing.length > 0 ? await findNonces(services, chain, wallet, missing) : [];
  if (sent.length < missing.length) throw new Error(`${missing.length - sent.length} nonces were not found; try again`);
  const found: { kind: ContentKind; transaction: SentTransaction }[] = [];
  for (const transaction of sent)
    found.push({ kind: await kindOnChain(services, chain, wallet, transaction), transaction });
  const closed = found.some(({ kind }) => kind === "foreign") && !acceptForeign;
  const { genesisHash } = await services.relay.factory(chain);
  await services.db.transaction().execute(async (db) => {
    const lane = await lockLane(db, chain.id, addr, count, genesisHash);
    const place = { chain_id: chain.id, addr };
    for (const { kind, transaction } of found)
      if (kind !== "noop" && kind !== "foreign")
        await noteSentElsewhere(services, db, chain, wallet, { ...transaction, kind });
    for (const { kind, transaction } of closed ? [] : found) {
      const slot =
        kind === "foreign"
          ? ({ kind: "noop", state: "foreign" } as const)
          : ({ kind, state: "mined", ...minedBy(transaction) } as const);
      await db
        .insertInto("service.slot")
        .values({ ...place, nonce: transaction.nonce, found: true, ...slot, found_root: rootOf(transaction.data) })
        .onConflict((conflict) =>
          conflict
            .columns(["chain_id", "addr", "nonce"])
            .doUpdateSet({ ...slot, found_root: rootOf(transaction.data) })
            // A request may have claimed it meanwhile, and follows it by itself.
            .where("service.slot.intent_id", "is", null)
            .where("service.slot.state", "=", "open"),
        )
        .execute();
      if (kind !== "foreign" && transaction.raw)
        await keepFoundBytes(db, place, { ...transaction, raw: transaction.raw });
    }
    const next = closed || lane.next_nonce > count ? lane.next_nonce : count;
    await db
      .updateTable("service.lane")
      .set({ next_nonce: next, ...(closed ? { state: "reconcile" } : {}) })
      .where("chain_id", "=", chain.id)
      .where("addr", "=", addr)
      .where("state", "!=", "halted")
      .execute();
    if (closed) return;
    await db
      .updateTable("service.lane")
      .set({ state: "open" })
      .where("chain_id", "=", chain.id)
      .where("addr", "=", addr)
      .where("state", "=", "reconcile")
      .execute();
  });
  if (found.length > 0)
    services.log.warn(
      { chain: chain.name, wallet, found: found.length, closed },
      "a lane was reconciled with its chain",
    );
  return found.map(({ kind, transaction: { nonce, hash } }) => ({ nonce, hash, kind, explained: kind !== "foreign" }));
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
  return (await askNode(chain, () => isOwnCollection(services, chain, target))) ? kind : "foreign";
}

export function minedBy({ receipt, hash }: SentTransaction) {
  return {
    mined_block: receipt.blockNumber,
    mined_block_hash: toBytes(receipt.blockHash),
    mined_attempt: toBytes(hash),
    mined_cost_wei: costOf(receipt),
  };
}
