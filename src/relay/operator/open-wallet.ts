import { sql } from "kysely";
import type { Address } from "viem";
import type { Chain } from "../../chains.ts";
import { toBytes } from "../../db/bytes.ts";
import { ServiceError } from "../../errors/errors.ts";
import type { RelayContext } from "../chain/context.ts";
import { findNonces } from "../chain/find-nonces.ts";
import { readChainView } from "../chain/view.ts";
import { followLost } from "../track/confirm-loop.ts";
import { kindOnChain } from "../track/import-found.ts";

export interface OpenedWallet {
  nextNonce: bigint;
  /** Nonces that a transaction which is not ours has used: they were passed over. */
  skipped: bigint;
}

/**
 * Opens a wallet again, on a person's word: its counter moves past what the chain shows as
 * used for good. What was used by others stays recorded, so that the nonces have no hole.
 *
 * @throws ServiceError `not_found` without such a wallet; `service_unavailable` when the node does not say
 *   how many transactions the wallet has.
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
    await transaction
      .updateTable("service.relayer_wallet")
      .set({ state: "open", needed_wei: null, next_nonce: nextNonce })
      .where("chain_id", "=", key.chain_id)
      .where("addr", "=", key.addr)
      .execute();
    return { nextNonce, skipped: skipped + BigInt(strange.length) };
  });
  await followLost(services, chain);
  return opened;
}

/** Nonces that were found in use, and that a mined transaction which this service never signs has used. */
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
