import { sql } from "kysely";
import { type Address, type Hex, keccak256, parseTransaction, recoverTransactionAddress } from "viem";
import type { Chain } from "../../chains.ts";
import { toAddress, toBytes, toHex } from "../../db/bytes.ts";
import { askNode } from "../../rpc/nodes.ts";
import { costOf, type Receipt } from "../../rpc/reads.ts";
import type { RelayContext } from "../chain/context.ts";
import { findDeploymentLog } from "../chain/done-elsewhere.ts";
import { easyTokenOf, importEasyToken } from "../chain/easy-token.ts";
import type { Fees } from "../chain/fees.ts";
import { feesOf, rawOf } from "../chain/find-nonces.ts";
import { isCallOf } from "../chain/own-content.ts";
import { encodeDeploy, intentName, leadsBatch } from "../chain/request-call.ts";
import { verifyDeployment } from "../chain/verify-deployment.ts";
import { readReceipt } from "../chain/view.ts";
import { callKind, getIntent, type Intent, moveIntent, replacesRecord } from "../store/intents.ts";
import { findReservation, selectAttempts, takeBlockSteps, updateNonce } from "../store/nonces.ts";
import { lockWallet, reserveBetween, updateWallet } from "../store/wallets.ts";
import type { WalletChoice } from "./choose-wallet.ts";
import { reserveFound, type Step } from "./hold-intent.ts";
import { keepFoundBytes } from "./reconcile-nonces.ts";

/**
 * Matches a request with transactions under way whose rows were lost: one of them may be its own, or the request waits
 * for one that may have its effect.
 *
 * @param intent without a nonce.
 * @returns null when it may have a transaction of its own.
 */
export async function takeRecovered(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  { found, recovered, kind }: WalletChoice,
): Promise<Step | null> {
  const claimed = found ? await claimRecovered(services, chain, intent) : null;
  if (claimed) return claimed;
  if (kind === "wallet" && recovered && (await isInFoundBatch(services, chain, intent)))
    return { kind: "waiting", intent, reason: "a transaction that was found of the paying wallet carries it out" };
  if (!found || !replacesRecord(intent.kind)) return null;
  const reason = "a transaction that was found of the paying wallet is under way, and may be an update";
  return { kind: "waiting", intent, reason };
}

/**
 * Gives a request the nonce at which its own transaction was recovered from a mempool: its rows were lost, and its
 * client asked again before the transaction was mined. The possible cost of its bytes is reserved with it.
 *
 * @returns the intent, `signed`; null when no transaction of it was recovered, or another process moved it.
 */
async function claimRecovered(services: RelayContext, chain: Chain, intent: Intent): Promise<Intent | null> {
  const rows = await selectAttempts(services.db)
    .select(["s.addr", "s.nonce", "a.raw"])
    .where("s.chain_id", "=", chain.id)
    .where("s.found_root", "=", intent.root_id)
    .where("s.intent_id", "is", null)
    .where("s.state", "=", "open")
    .orderBy("s.nonce")
    .execute();
  const found = rows.flatMap((row) => {
    const { to, data = "0x" } = parseTransaction(toHex(row.raw));
    const token = easyTokenOf(intent, to, data);
    const recipient = to?.toLowerCase() as Address | undefined;
    const batch = recipient === toAddress(intent.factory) && leadsBatch(intent, data) ? toBytes(data) : null;
    return token || batch || isCallOf(intent, recipient, data) ? [{ ...row, token, batch }] : [];
  });
  const [own] = found;
  if (!own) return null;
  return await services.db.transaction().execute(async (db) => {
    const imported = own.token ? await importEasyToken(db, intent, own.token) : intent;
    const more = own.batch ? { batch_call: own.batch } : {};
    const signed = imported && (await moveIntent(db, imported, "signed", null, null, more));
    if (!signed) return null;
    const claimed = await updateNonce(db, { chain_id: chain.id, addr: own.addr, nonce: own.nonce })
      .set({ intent_id: intent.id, kind: callKind(intent.kind) })
      .where("intent_id", "is", null)
      .where("state", "=", "open")
      .executeTakeFirst();
    if (claimed.numUpdatedRows === 0n) throw new Error(`nonce ${own.nonce} was claimed by another request`);
    // Once the nonce is claimed, bytes are added to it only through the intent.
    const { worst } = await db
      .selectFrom("service.attempt")
      .select(sql<string>`max(max_fee * gas + data_wei)`.as("worst"))
      .where("chain_id", "=", chain.id)
      .where("addr", "=", own.addr)
      .where("nonce", "=", own.nonce)
      .executeTakeFirstOrThrow();
    const reserved = await reserveFound(services, db, chain, signed, BigInt(worst));
    if (!reserved) throw new Error(`intent ${intent.id} was moved while its row was locked`);
    services.log.warn({ intent: intent.id, nonce: own.nonce }, "a request is the transaction that was found of it");
    return reserved;
  });
}

/**
 * Whether a transaction recovered from a mempool carries the request out with others: a batch whose rows were lost. A
 * transaction of its own would be refused once that one is mined, and waste gas.
 */
async function isInFoundBatch({ db }: RelayContext, chain: Chain, intent: Intent): Promise<boolean> {
  if (intent.kind !== "mint") return false;
  const name = toBytes(intentName(intent.root_id));
  const row = await selectAttempts(db)
    .select("s.nonce")
    .where("s.chain_id", "=", chain.id)
    .where("s.found", "=", true)
    .where("s.state", "=", "open")
    .where("s.found_root", "<>", intent.root_id)
    // The transaction's bytes contain those of its call unchanged.
    .where(sql<boolean>`position(${name}::bytea IN a.raw) > 0`)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

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
 * Takes over a collection that stands at an intent's address although no attempt is stored: the database was restored
 * to a state before the signature. The chain would refuse a second one anyway.
 *
 * @returns the intent, now mined; null when there is nothing to import.
 */
export async function importDeployment(services: RelayContext, chain: Chain, intent: Intent): Promise<Intent | null> {
  const found = await findOwnDeployment(services, chain, intent);
  return found && (await takeDeployment(services, chain, intent, found));
}

/** What `importDeployment` would take over; null: nothing, or a deployment that is not ours, which is logged. */
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

/** @returns the intent's current row; null when its nonce belongs to another request. */
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
      // An operator may have recorded the nonce before, when this request was not known.
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
        await updateWallet(transaction, { chain_id: chain.id, addr })
          .set({ next_nonce: nonce + 1n })
          .execute();
      }
    }
    const hash = receipt.transactionHash;
    await keepFoundBytes(transaction, key, { nonce, hash, raw, gas, ...fees });
    const block = { number: receipt.blockNumber, hash: receipt.blockHash };
    const most = gas * fees.maxFeePerGas + (receipt.l1Fee ?? 0n);
    const reserved = await reserveFound(services, transaction, chain, queued, most);
    const cost = costOf(receipt, fees.maxFeePerGas);
    const place = { hash, block, costWei: cost };
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

/** The nonce of a recovered deployment is reserved for another request, which has not lost it yet. */
class NonceOfAnother extends Error {}

/** Another process moved the intent. Nothing may be bound to it: nobody would follow the nonce of an ended intent. */
class MovedMeanwhile extends Error {}

/** A nonce can only be recorded for a wallet of this installation; the database may have one whose key is gone. */
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
  // The receipt of an orphaned block would leave a reservation that cannot be followed.
  if (receipt.blockHash !== log.blockHash) return null;
  // The event only says where to look. Ours is the very call that this intent would sign, not made by a contract.
  const isCall =
    transaction.to?.toLowerCase() === toAddress(intent.factory) && transaction.input === encodeDeploy(intent);
  if (!isCall || transaction.value !== 0n) return null;
  const raw = rawOf(chain.id, transaction);
  if (!raw || keccak256(raw) !== log.hash) return null;
  // A single endpoint names the sender, and a wallet's counter moves past the nonce: the signature decides.
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
