import { sql } from "kysely";
import type { Address } from "viem";
import type { Chain } from "../../chains.ts";
import { toBytes } from "../../db/bytes.ts";
import { ServiceError } from "../../errors/errors.ts";
import { askNode } from "../../rpc/nodes.ts";
import type { RelayContext } from "../chain/context.ts";
import { findNonces } from "../chain/find-nonces.ts";
import { rootOf } from "../chain/own-content.ts";
import { readChainView } from "../chain/view.ts";
import { updateNonce } from "../store/nonces.ts";
import { updateWallet } from "../store/wallets.ts";
import { keepFoundBytes } from "../submit/reconcile-nonces.ts";
import { followLost } from "../track/follow-loop.ts";
import { type FoundNonce, importFound, kindOnChain } from "../track/watch-wallets.ts";

/**
 * Completes the rows of a wallet that did more than the database knows, on a person's command. The worker does the same
 * by itself once those transactions are final. This command does not wait for that, repairs what older versions left (a
 * wallet halted for a transaction of our own, requests without their nonce), and can skip external transactions.
 *
 * @param options `acceptExternal`: nonces used by other transactions are recorded as such and skipped. Without it, one
 *   of them keeps the wallet closed and nothing is written.
 * @returns the nonces that were missing or wrongly recorded as external, ascending.
 */
export async function reconcileWallet(
  services: RelayContext,
  chain: Chain,
  wallet: Address,
  options: { acceptExternal?: boolean } = {},
): Promise<FoundNonce[]> {
  const count = BigInt(await askNode(chain, () => services.rpc(chain).getTransactionCount({ address: wallet })));
  const found = await importFound(services, chain, wallet, { ...options, count });
  const halted = await explainHalt(services, chain, wallet);
  await followLost(services, chain);
  return [...halted, ...found].sort((a, b) => Number(a.nonce - b.nonce));
}

/** A halted wallet opens when transactions that this service signs explain every nonce for which it was halted. */
async function explainHalt(services: RelayContext, chain: Chain, wallet: Address): Promise<FoundNonce[]> {
  const key = { chain_id: chain.id, addr: toBytes(wallet) };
  const query = services.db
    .selectFrom("service.relayer_wallet")
    .select("state")
    .where("chain_id", "=", key.chain_id)
    .where("addr", "=", key.addr);
  if ((await query.executeTakeFirst())?.state !== "halted") return [];
  const taken = await services.db
    .selectFrom("service.nonce_reservation as s")
    .innerJoin("service.intent as i", "i.id", "s.intent_id")
    .select("s.nonce")
    .where("s.chain_id", "=", key.chain_id)
    .where("s.addr", "=", key.addr)
    .where("s.state", "=", "external")
    .where("s.found", "=", false)
    .orderBy("s.nonce")
    .execute();
  if (taken.length === 0) return [];
  const nonces = taken.map(({ nonce }) => nonce);
  const found: FoundNonce[] = [];
  for (const sent of await findNonces(services, chain, wallet, nonces)) {
    const kind = await kindOnChain(services, chain, wallet, sent);
    found.push({ nonce: sent.nonce, hash: sent.hash, kind, explained: kind !== "external" });
    if (kind === "external" || !sent.raw) continue;
    const raw = sent.raw;
    await services.db.transaction().execute(async (db) => {
      await updateNonce(db, { chain_id: key.chain_id, addr: key.addr, nonce: sent.nonce })
        .set({ found: true, found_root: rootOf(sent.data) })
        .execute();
      await keepFoundBytes(db, key, { ...sent, raw });
    });
  }
  if (found.length === nonces.length && found.every(({ explained }) => explained))
    await updateWallet(services.db, key).set({ state: "open" }).where("state", "=", "halted").execute();
  return found;
}

interface OpenedWallet {
  nextNonce: bigint;
  /** Nonces that were used by transactions which are not ours, and were skipped. */
  skipped: bigint;
}

/**
 * Opens a wallet again, on a person's command: its counter moves past the nonces that the chain shows as used for good.
 * Nonces used by others stay recorded, so that there is no gap.
 *
 * @throws ServiceError `not_found` without such a wallet; `service_unavailable` when the node does not report the
 *   wallet's transaction count.
 */
export async function openWallet(services: RelayContext, chain: Chain, wallet: Address): Promise<OpenedWallet> {
  const address = wallet.toLowerCase() as Address;
  const view = await readChainView(services.relay.nodes(chain), chain, [address]);
  const used = view.wallets.get(address)?.finalNonce ?? null;
  if (used === null) throw new ServiceError("service_unavailable", `the ${chain.name} node keeps too little history`);
  const strange = await listExternalFound(services, chain, address, used);
  const opened = await services.db.transaction().execute(async (transaction) => {
    const key = { chain_id: chain.id, addr: toBytes(address) };
    const walletRow = await transaction
      .selectFrom("service.relayer_wallet")
      .selectAll()
      .where("chain_id", "=", key.chain_id)
      .where("addr", "=", key.addr)
      .forUpdate()
      .executeTakeFirst();
    if (!walletRow) throw new ServiceError("not_found", `nothing is known of wallet ${wallet} on ${chain.name}`);
    const skipped = used > walletRow.next_nonce ? used - walletRow.next_nonce : 0n;
    const nextNonce = walletRow.next_nonce + skipped;
    for (let nonce = walletRow.next_nonce; nonce < nextNonce; nonce += 1n)
      await transaction
        .insertInto("service.nonce_reservation")
        .values({ ...key, nonce, intent_id: null, kind: "cancellation", state: "external" })
        .execute();
    // Left open, they would close the wallet again at the next check.
    if (strange.length > 0)
      await transaction
        .updateTable("service.nonce_reservation")
        .set({ kind: "cancellation", state: "external" })
        .where("chain_id", "=", key.chain_id)
        .where("addr", "=", key.addr)
        .where("nonce", "in", strange)
        .where("intent_id", "is", null)
        .where("state", "=", "open")
        .execute();
    await updateWallet(transaction, key)
      .set({ state: "open", needed_wei: null, needed_for: null, next_nonce: nextNonce })
      .execute();
    return { nextNonce, skipped: skipped + BigInt(strange.length) };
  });
  await followLost(services, chain);
  return opened;
}

/** Recovered nonces that were used by a mined transaction which this service never signs. */
async function listExternalFound(
  services: RelayContext,
  chain: Chain,
  wallet: Address,
  used: bigint,
): Promise<bigint[]> {
  const found = await services.db
    .selectFrom("service.nonce_reservation")
    .select("nonce")
    .where("chain_id", "=", chain.id)
    .where("addr", "=", toBytes(wallet))
    .where(sql<boolean>`found AND intent_id IS NULL AND state = 'open'`)
    .where("nonce", "<", used)
    .orderBy("nonce")
    .execute();
  if (found.length === 0) return [];
  const nonces = found.map(({ nonce }) => nonce);
  const strange: bigint[] = [];
  for (const sent of await findNonces(services, chain, wallet, nonces))
    if ((await kindOnChain(services, chain, wallet, sent)) === "external") strange.push(sent.nonce);
  return strange;
}
