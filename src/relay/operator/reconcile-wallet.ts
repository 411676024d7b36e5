import type { Address } from "viem";
import type { Chain } from "../../chains.ts";
import { toBytes } from "../../db/bytes.ts";
import type { RelayContext } from "../chain/context.ts";
import { findNonces } from "../chain/find-nonces.ts";
import { askNode } from "../chain/node-failure.ts";
import { rootOf } from "../chain/own-content.ts";
import { keepFoundBytes } from "../submit/reconcile-nonces.ts";
import { followLost } from "../track/confirm-loop.ts";
import { type FoundNonce, importFound, kindOnChain } from "../track/import-found.ts";

/**
 * Completes the rows of a wallet that did more than the database knows of: a person's command. The worker does the same
 * by itself once those transactions are final; this does not wait for that, mends what older versions left (a wallet that
 * was halted for a transaction of our own, requests without their nonce), and can pass external ones over.
 *
 * @param options `acceptExternal`: nonces used by other transactions are recorded as such and passed over. Without,
 *   one of them keeps the wallet closed and nothing is written.
 * @returns the nonces that were missing or taken for somebody else's, ascending.
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

/** A halted wallet opens when every nonce that it was halted for was used by what this service signs. */
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
      await db
        .updateTable("service.nonce_reservation")
        .set({ found: true, found_root: rootOf(sent.data) })
        .where("chain_id", "=", key.chain_id)
        .where("addr", "=", key.addr)
        .where("nonce", "=", sent.nonce)
        .execute();
      await keepFoundBytes(db, key, { ...sent, raw });
    });
  }
  if (found.length === nonces.length && found.every(({ explained }) => explained))
    await services.db
      .updateTable("service.relayer_wallet")
      .set({ state: "open" })
      .where("chain_id", "=", key.chain_id)
      .where("addr", "=", key.addr)
      .where("state", "=", "halted")
      .execute();
  return found;
}
