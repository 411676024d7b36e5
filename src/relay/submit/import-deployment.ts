import { type Address, type Hex, keccak256, recoverTransactionAddress } from "viem";
import type { Chain } from "../../chains.ts";
import { toAddress, toBytes } from "../../db/bytes.ts";
import type { RelayContext } from "../chain/context.ts";
import { encodeDeploy } from "../chain/encode-call.ts";
import type { Fees } from "../chain/fees.ts";
import { findDeploymentLog } from "../chain/find-done.ts";
import { askNode } from "../chain/node-failure.ts";
import { feesOf, rawOf } from "../chain/raw-transaction.ts";
import { costOf, type Receipt } from "../chain/reads.ts";
import { verifyDeployment } from "../chain/verify-deployment.ts";
import { readReceipt } from "../chain/view.ts";
import { getIntent, type Intent, moveIntent } from "../store/intents.ts";
import { findReservation, takeBlockSteps } from "../store/nonces.ts";
import { lockWallet, reserveBetween } from "../store/wallets.ts";
import { reserveFound } from "./raise-reservation.ts";

/** The transaction that deployed an intent's collection, from a wallet of ours. */
export interface OwnDeployment {
  receipt: Receipt;
  raw: Hex;
  nonce: bigint;
  sender: Address;
  fees: Fees;
  gas: bigint;
}

/**
 * Takes over a collection that stands at an intent's address although no attempt is remembered: the
 * database was restored to a state before the signature. The chain would refuse a second one anyway.
 *
 * @returns the intent, now mined; null when there is nothing to import.
 */
export async function importDeployment(services: RelayContext, chain: Chain, intent: Intent): Promise<Intent | null> {
  const found = await findOwnDeployment(services, chain, intent);
  return found && (await takeDeployment(services, chain, intent, found));
}

/** What `importDeployment` would take over; null: nothing, or what is none of ours, which is logged. */
export async function findOwnDeployment(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
): Promise<OwnDeployment | null> {
  const found = await askNode(chain, () => findDeployment(services, chain, intent));
  if (!found) return null;
  const { receipt, nonce, sender } = found;
  if (!(await isOwnWallet(services, chain, sender))) {
    services.log.error({ intent: intent.id, sender }, "a wallet that is not ours deployed an intent's collection");
    return null;
  }
  const problem = await askNode(chain, () =>
    verifyDeployment(services.relay.nodes(chain), intent, receipt.blockNumber, receipt.transactionHash),
  );
  if (problem) {
    services.log.error({ intent: intent.id, problem }, "an external collection stands at the address of an intent");
    return null;
  }
  const reservation = await findReservation(services.db, intent.id);
  if (!reservation || reservation.nonce === nonce) return found;
  services.log.error(
    { intent: intent.id, reservation: reservation.nonce, nonce },
    "deployed with another nonce than its own",
  );
  return null;
}

/** @returns the intent as it stands; null when its nonce is another request's. */
export async function takeDeployment(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  { receipt, raw, nonce, sender, fees, gas }: OwnDeployment,
): Promise<Intent | null> {
  const { genesisHash } = await services.relay.factory(chain);
  const reservation = await findReservation(services.db, intent.id);
  services.log.warn({ intent: intent.id, hash: receipt.transactionHash }, "importing a deployment found on the chain");
  const importing = services.db.transaction().execute(async (transaction) => {
    const addr = toBytes(sender);
    const walletRow = await lockWallet(transaction, chain.id, addr, nonce, genesisHash);
    const queued = intent.state === "held" ? await moveIntent(transaction, intent, "queued") : intent;
    if (!queued) return await getIntent(transaction, intent.id);
    const key = { chain_id: chain.id, addr, nonce };
    if (!reservation) {
      const between = await reserveBetween(transaction, key, nonce, walletRow.next_nonce);
      if (between > 0n)
        services.log.warn(
          { chain: chain.name, wallet: sender, nonce, between },
          "nonces beside an imported one are not known either; what used them is recorded once it is final",
        );
      // An operator may have recorded the nonce already, when nobody remembered this request.
      const bound = await transaction
        .insertInto("service.nonce_reservation")
        .values({ ...key, intent_id: intent.id, kind: "deploy" })
        .onConflict((conflict) =>
          conflict
            .columns(["chain_id", "addr", "nonce"])
            .doUpdateSet({ intent_id: intent.id })
            .where("service.nonce_reservation.intent_id", "is", null),
        )
        .executeTakeFirst();
      if (bound.numInsertedOrUpdatedRows === 0n) throw new NonceOfAnother();
      if (walletRow.next_nonce <= nonce) {
        await transaction
          .updateTable("service.relayer_wallet")
          .set({ next_nonce: nonce + 1n })
          .where("chain_id", "=", chain.id)
          .where("addr", "=", addr)
          .execute();
      }
    }
    await transaction
      .insertInto("service.attempt")
      .values({
        ...key,
        hash: toBytes(receipt.transactionHash),
        kind: "imported",
        raw: toBytes(raw),
        max_fee: fees.maxFeePerGas,
        tip: fees.maxPriorityFeePerGas,
        gas,
      })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    const block = { number: receipt.blockNumber, hash: receipt.blockHash };
    const most = gas * fees.maxFeePerGas + (receipt.l1Fee ?? 0n);
    const reserved = await reserveFound(services, transaction, chain, queued, most);
    const cost = costOf(receipt, fees.maxFeePerGas);
    const place = { hash: receipt.transactionHash, block, costWei: cost };
    const [mined] = reserved
      ? await takeBlockSteps(transaction, [{ intent: reserved, to: "mined", mined: place }])
      : [null];
    if (!mined) throw new MovedMeanwhile();
    return mined;
  });
  return await importing.catch(async (error: unknown) => {
    if (error instanceof MovedMeanwhile) return await getIntent(services.db, intent.id);
    if (!(error instanceof NonceOfAnother)) throw error;
    services.log.warn({ intent: intent.id, nonce }, "its nonce is another request's; it ends once that is final");
    return null;
  });
}

/** The nonce of a deployment that was found is reserved for another request, which has not lost it yet. */
class NonceOfAnother extends Error {}

/** Another process moved the intent: nothing may be bound to it, since nobody would follow a nonce of an ended one. */
class MovedMeanwhile extends Error {}

/** A nonce can be recorded for a wallet of this installation only; the database may remember one that has no key any more. */
async function isOwnWallet(services: RelayContext, chain: Chain, sender: Address): Promise<boolean> {
  if (services.relay.signers(chain).some(({ address }) => address.toLowerCase() === sender)) return true;
  const walletRow = await services.db
    .selectFrom("service.relayer_wallet")
    .select("addr")
    .where("chain_id", "=", chain.id)
    .where("addr", "=", toBytes(sender))
    .executeTakeFirst();
  return walletRow !== undefined;
}

async function findDeployment(services: RelayContext, chain: Chain, intent: Intent): Promise<OwnDeployment | null> {
  const client = services.rpc(chain);
  const log = await findDeploymentLog(services, chain, intent);
  if (!log) return null;
  const [receipt, transaction] = await Promise.all([
    readReceipt(services.relay.nodes(chain), log.hash),
    client.getTransaction({ hash: log.hash }),
  ]);
  if (receipt.status !== 1n) return null;
  // A receipt of a dead block would leave a reservation that nothing can follow.
  if (receipt.blockHash !== log.blockHash) return null;
  // The event shows where to look. Ours is the call that this intent would sign, and no contract's in between.
  const isCall =
    transaction.to?.toLowerCase() === toAddress(intent.factory) && transaction.input === encodeDeploy(intent);
  if (!isCall || transaction.value !== 0n) return null;
  const raw = rawOf(chain.id, transaction);
  if (!raw || keccak256(raw) !== log.hash) return null;
  // One endpoint says whose it is, and a wallet's counter moves behind its nonce: the signature decides.
  const sender = await recoverTransactionAddress({ serializedTransaction: raw });
  return {
    receipt,
    raw,
    nonce: BigInt(transaction.nonce),
    sender: sender.toLowerCase() as Address,
    fees: feesOf(transaction),
    gas: transaction.gas,
  };
}
