import type { Address, Hash } from "viem";
import type { Chain } from "../../chains.ts";
import { toBytes } from "../../db/bytes.ts";
import { askNode, loggable } from "../../rpc/nodes.ts";
import { costOf } from "../../rpc/reads.ts";
import type { RelayContext } from "../chain/context.ts";
import { findNonces, type SentTransaction } from "../chain/find-nonces.ts";
import { type ContentKind, isOwnCollection, kindOfContent, rootOf } from "../chain/own-content.ts";
import { type ChainView, readChainView } from "../chain/view.ts";
import {
  listWallets,
  lockWallet,
  missingNonces,
  nameWallet,
  type RelayerWallet,
  updateWallet,
} from "../store/wallets.ts";
import { keepFoundBytes, recordSentElsewhere } from "../submit/reconcile-nonces.ts";
import type { RelayMemory } from "./loop-steps.ts";

/**
 * Reads the state of the chain and of the relayer wallets, and opens and closes wallets accordingly. A reading that
 * another round made a moment ago is reused.
 *
 * @throws NodeFault when no endpoint gives a usable answer.
 */
export async function refreshWallets(services: RelayContext, chain: Chain, memory: RelayMemory): Promise<ChainView> {
  if (memory.view && performance.now() - memory.view.at < memory.viewMs) return await memory.view.reading;
  const reading = readWallets(services, chain, memory);
  memory.view = { at: performance.now(), reading };
  // An error is for those who wait for this reading; the next round reads again.
  reading.catch(() => {
    if (memory.view?.reading === reading) memory.view = null;
  });
  return await reading;
}

async function readWallets(services: RelayContext, chain: Chain, memory: RelayMemory): Promise<ChainView> {
  const wallets = services.relay.signers(chain).map(({ address }) => address);
  const view = await readChainView(services.relay.nodes(chain), chain, wallets);
  for (const [wallet, { nonce }] of view.wallets) services.relay.wallets.sawMined(nameWallet(chain, wallet), nonce);
  await watchWallets(services, chain, view, memory);
  return view;
}

/** Checking a wallet reads its transactions again, so it is repeated only after this time. */
const pollMs = { local: 1_000, elsewhere: 30_000 };

/**
 * Opens and closes wallets by what the chain shows. A wallet that waited for funds opens when they arrive or no request
 * needs them any more. Transactions of a wallet that the database forgot are recorded once they are final, and close
 * the wallet only if this service never signs such a transaction. Only a person opens a halted wallet.
 */
async function watchWallets(services: RelayContext, chain: Chain, view: ChainView, memory: RelayMemory): Promise<void> {
  for (const wallet of await listWallets(services.db, chain.id)) {
    const onChain = view.wallets.get(wallet.address);
    if (!onChain) continue;
    const context = { chain: chain.name, wallet: wallet.address };
    const count = onChain.finalNonce;
    const forgot = count !== null && (count > wallet.nextNonce || (wallet.found !== null && wallet.found < count));
    if (wallet.state !== "halted" && count !== null && (forgot || wallet.state === "reconcile"))
      await importNewlyFound(services, chain, wallet, count, memory);
    if (wallet.state !== "paused_funds") continue;
    const isFunded = onChain.balanceWei - wallet.reservedWei >= wallet.neededWei;
    if (!isFunded && !wallet.isNeedless) continue;
    const why = isFunded ? "a wallet has funds again" : "the request that a wallet needed funds for waits no longer";
    services.log.info({ ...context, balance: onChain.balanceWei }, why);
    await openPaused(services, chain, wallet);
  }
}

/**
 * Transactions that cannot be read hold nothing else up, and close nothing: a wallet whose chain is ahead assigns no
 * nonce before its transactions were read (`reconcileNonces`).
 */
async function importNewlyFound(
  services: RelayContext,
  chain: Chain,
  wallet: RelayerWallet,
  count: bigint,
  { foundReadAt }: RelayMemory,
): Promise<void> {
  const waitMs = chain.local ? pollMs.local : pollMs.elsewhere;
  if (performance.now() - (foundReadAt.get(wallet.address) ?? Number.NEGATIVE_INFINITY) < waitMs) return;
  foundReadAt.set(wallet.address, performance.now());
  const context = { chain: chain.name, wallet: wallet.address, count };
  try {
    const found = await importFound(services, chain, wallet.address, { count });
    const strange = found.filter(({ explained }) => !explained);
    if (strange.length > 0) services.log.error({ ...context, strange }, "external transactions from the paying wallet");
  } catch (error) {
    services.log.error({ ...context, ...loggable(error) }, "what the wallet did beside the database cannot be read");
  }
}

async function openPaused(services: RelayContext, chain: Chain, wallet: RelayerWallet): Promise<void> {
  await updateWallet(services.db, { chain_id: chain.id, addr: toBytes(wallet.address) })
    .set({ state: "open", needed_wei: null, needed_for: null })
    .where("state", "=", "paused_funds")
    .where("next_nonce", "=", wallet.nextNonce)
    .execute();
}

/** A nonce that was used on the chain and was missing in the database. */
export interface FoundNonce {
  nonce: bigint;
  hash: Hash;
  kind: ContentKind;
  /** The relayer wallets may sign such a transaction, so it was ours, and the database has forgotten it. */
  explained: boolean;
}

/**
 * Records each transaction of a wallet that is on the chain and that the database forgot: its nonce gets a mined
 * reservation, with the intent id that it deployed. Its request takes that over (`importDeployment`), now or when its
 * client asks again. The wallet's counter moves past these nonces; a transaction with other content closes the wallet.
 *
 * @param count the wallet's transaction count up to the block being read.
 * @param acceptExternal on a person's decision: nonces used by other transactions are recorded as such and skipped.
 * @returns the missing nonces, ascending.
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
            // A request may have claimed it meanwhile, and then follows it itself.
            .where("service.nonce_reservation.intent_id", "is", null)
            .where("service.nonce_reservation.state", "=", "open"),
        )
        .execute();
      if (kind !== "external" && transaction.raw)
        await keepFoundBytes(db, key, { ...transaction, raw: transaction.raw });
    }
    const next = closed || walletRow.next_nonce > count ? walletRow.next_nonce : count;
    await updateWallet(db, { chain_id: chain.id, addr })
      .set({ next_nonce: next, ...(closed ? { state: "reconcile" } : {}) })
      .where("state", "!=", "halted")
      .execute();
    if (closed) return;
    await updateWallet(db, { chain_id: chain.id, addr })
      .set({ state: "open" })
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

/** Classifies a mined transaction of a wallet, from the database and the chain. */
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
