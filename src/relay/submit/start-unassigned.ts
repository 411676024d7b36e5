import { sql } from "kysely";
import { type Address, parseTransaction } from "viem";
import type { Chain } from "../../chains.ts";
import { toAddress, toBytes, toHex } from "../../db/bytes.ts";
import { leadsBatch } from "../chain/batch-call.ts";
import type { RelayContext } from "../chain/context.ts";
import { easyTokenOf } from "../chain/easy-token.ts";
import { isIntentDone, isIntentPending } from "../chain/intent-done.ts";
import { askNode } from "../chain/node-failure.ts";
import { callKind, intentName, replacesRecord } from "../chain/operation.ts";
import { isCallOf } from "../chain/own-content.ts";
import { isFirstNonce } from "../chain/pending-nonces.ts";
import { getIntent, type Intent, moveIntent } from "../store/intents.ts";
import { isTokenSuperseded, waitForTokenTurn } from "../store/token-order.ts";
import { waitForTurn } from "../store/update-order.ts";
import { chooseWallet, sendersOf, type WalletChoice } from "./choose-wallet.ts";
import { endIfDoneElsewhere } from "./done-elsewhere.ts";
import { holdDone, holdIntent, holdRefused, holdRoles, type Payable, payablePlan } from "./hold-intent.ts";
import { importDeployment } from "./import-deployment.ts";
import { importEasyToken } from "./import-easy-token.ts";
import { type Preflight, preflight } from "./preflight.ts";
import { reserveFound } from "./raise-reservation.ts";
import { reserveNonce } from "./reserve-nonce.ts";
import { signAttempt } from "./sign-attempt.ts";
import type { Step } from "./submission.ts";
import { lacksBasis, takeBasis } from "./take-basis.ts";

type Wallet = Extract<WalletChoice, { kind: "wallet" }>;

/**
 * The step of an intent without a nonce: a wallet is chosen, the call simulated for it, a nonce reserved, and the
 * transaction signed and stored.
 *
 * @param known what an earlier try a moment ago learned from the node.
 */
export async function startUnassigned(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  known: Preflight | null,
): Promise<Step> {
  if (await isTokenSuperseded(services.db, intent)) {
    const reason = "a later update of this token was carried out while this one had to be repeated";
    return (
      (await moveIntent(services.db, intent, "cancelled", "superseded", reason)) ??
      (await getIntent(services.db, intent.id))
    );
  }
  const turn =
    (await waitForTurn(services.db, intent, null, null)) ?? (await waitForTokenTurn(services.db, intent, null));
  if (turn) return { kind: "waiting", intent, reason: turn, ready: null };
  const choice = await chooseWallet(services, chain, intent);
  const claimed = choice.found ? await claimFound(services, chain, intent) : null;
  if (claimed) return claimed;
  if (choice.kind === "wallet" && choice.recovered && (await isInFoundBatch(services, chain, intent))) {
    const reason = "a transaction that was found of the paying wallet carries it out";
    return { kind: "waiting", intent, reason, ready: null };
  }
  if (choice.found && replacesRecord(intent.kind)) {
    const reason = "a transaction that was found of the paying wallet is under way, and may be an update";
    return { kind: "waiting", intent, reason, ready: null };
  }
  if (choice.kind === "hold") {
    // The wallet may wait for this very intent: after a restore, for the collection that it made already.
    const found =
      choice.reason === "wallet" && intent.kind !== "update" ? await findOnChain(services, chain, intent) : null;
    return found ?? (await holdIntent(services, chain, intent, choice.reason, choice.message));
  }
  // What an update replaces may have changed since an earlier look, and another wallet has another balance.
  const fresh = !replacesRecord(intent.kind) && known?.sender === choice.sender ? known : null;
  const answer = fresh ?? (await preflight(services, chain, intent, choice.sender));
  if ("waits" in answer) return { kind: "waiting", intent, reason: answer.waits, ready: null };
  if ("refused" in answer) return await takeRefusal(services, chain, intent, choice, answer.refused);
  const payable = await payablePlan(services, chain, intent, answer, false);
  return "step" in payable ? payable.step : await reserveAndSign(services, chain, intent, choice, payable);
}

/** Looks for other reasons of a refused simulation than the request itself, before it is held for it. */
async function takeRefusal(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  { sender }: Wallet,
  reason: string,
): Promise<Step> {
  // Another process may have deployed it since: then the refusal is the second deployment's.
  const now = await getIntent(services.db, intent.id);
  if (now.version !== intent.version) return now;
  if (intent.kind === "update") return await holdRefused(services, chain, intent, reason);
  const found = await findOnChain(services, chain, intent);
  if (found) return found;
  if (await askNode(chain, () => isIntentDone(services, chain, intent))) return await holdDone(services, chain, intent);
  // The wallet may have lost its role since it was chosen: then another one has it, or the request waits for it.
  services.relay.forgetRoles(chain);
  if (!(await sendersOf(services, chain, intent)).includes(sender)) return intent;
  // A node may simulate on top of its mempool, and this very request may wait there, forgotten here.
  if ((await lacksBasis(services, chain, sender)) && (await takeBasis(services, chain, sender)) === null) return intent;
  // Such a node also says that the operator has done it, which the chain does not show yet.
  if (await askNode(chain, () => isIntentPending(services, chain, intent)))
    return await holdDone(services, chain, intent);
  return await holdRefused(services, chain, intent, reason);
}

/** What the chain has of the request already: its collection, or its effect by another transaction. */
async function findOnChain(services: RelayContext, chain: Chain, intent: Intent): Promise<Intent | null> {
  const imported = intent.kind === "deploy" ? await importDeployment(services, chain, intent) : null;
  return imported ?? (await endIfDoneElsewhere(services, chain, intent));
}

async function reserveAndSign(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  choice: Wallet,
  { plan, ready }: Payable,
): Promise<Step> {
  const again = () => getIntent(services.db, intent.id);
  if (choice.isNew && !(await isFirstNonce(services, chain, choice.sender, ready.chainNonce))) {
    const reason = "the endpoints do not agree on how many transactions the paying wallet has sent";
    return { kind: "waiting", intent, reason, ready: null };
  }
  const forbidden = await holdRoles(services, chain, intent);
  if (forbidden) return forbidden;
  // A nonce that nobody signs for would keep those behind it waiting.
  await services.relay.signing.requireRoom(chain, plan.gas * plan.fees.maxFeePerGas);
  const queued = intent.state === "held" ? await moveIntent(services.db, intent, "queued") : intent;
  if (!queued) return await again();
  const { genesisHash } = await services.relay.factory(chain);
  const assignment = await reserveNonce(services, chain, queued, ready, genesisHash);
  switch (assignment.kind) {
    case "assigned": {
      const { intent: assigned, reservation, call } = assignment;
      return (await signAttempt(services, chain, assigned, reservation, { ...plan, ...call })) ?? (await again());
    }
    case "batched":
      return assignment.intent;
    case "lost":
      return await again();
    case "unchecked": {
      const unready = await takeBasis(services, chain, choice.sender);
      if (!unready) return queued;
      if (!unready.soon) return await holdIntent(services, chain, queued, "wallet", unready.reason);
      return { kind: "waiting", intent: queued, reason: unready.reason, ready: null };
    }
    case "wait":
      return { kind: "waiting", intent: queued, reason: assignment.reason, ready };
    case "hold": {
      const other = await chooseWallet(services, chain, queued);
      return other.kind === "wallet" && other.sender !== choice.sender
        ? queued
        : await holdIntent(services, chain, queued, assignment.reason, assignment.message);
    }
    default:
      return assignment satisfies never;
  }
}

/**
 * Gives a request the nonce at which its own transaction was found in a mempool: its rows were lost, and its client
 * asked again before the transaction was mined. What its bytes may cost is set aside with it.
 *
 * @param intent without a nonce.
 * @returns the intent, `signed`; null when nothing of it was found, or another process moved it.
 */
async function claimFound(services: RelayContext, chain: Chain, intent: Intent): Promise<Intent | null> {
  const rows = await services.db
    .selectFrom("service.nonce_reservation as s")
    .innerJoin("service.attempt as a", (join) =>
      join.onRef("a.chain_id", "=", "s.chain_id").onRef("a.addr", "=", "s.addr").onRef("a.nonce", "=", "s.nonce"),
    )
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
    const queued = imported?.state === "held" ? await moveIntent(db, imported, "queued") : imported;
    const more = own.batch ? { batch_call: own.batch } : {};
    const assigned = queued && (await moveIntent(db, queued, "assigned", null, null, more));
    if (!assigned) return null;
    const claimed = await db
      .updateTable("service.nonce_reservation")
      .set({ intent_id: intent.id, kind: callKind(intent.kind) })
      .where("chain_id", "=", chain.id)
      .where("addr", "=", own.addr)
      .where("nonce", "=", own.nonce)
      .where("intent_id", "is", null)
      .where("state", "=", "open")
      .executeTakeFirst();
    if (claimed.numUpdatedRows === 0n) throw new Error(`nonce ${own.nonce} was claimed by another request`);
    // With the nonce claimed nobody adds bytes to it but through the intent.
    const { worst } = await db
      .selectFrom("service.attempt")
      .select(sql<string>`max(max_fee * gas + data_wei)`.as("worst"))
      .where("chain_id", "=", chain.id)
      .where("addr", "=", own.addr)
      .where("nonce", "=", own.nonce)
      .executeTakeFirstOrThrow();
    const reserved = await reserveFound(services, db, chain, assigned, BigInt(worst));
    if (!reserved) throw new Error(`intent ${intent.id} was moved while its row was locked`);
    services.log.warn({ intent: intent.id, nonce: own.nonce }, "a request is the transaction that was found of it");
    return await moveIntent(db, reserved, "signed");
  });
}

/**
 * Whether a transaction that was found in a mempool carries a request out among others: a batch whose rows were lost. A
 * transaction of its own would be refused once that one is mined, and cost gas for nothing.
 */
async function isInFoundBatch({ db }: RelayContext, chain: Chain, intent: Intent): Promise<boolean> {
  if (intent.kind !== "mint") return false;
  const name = toBytes(intentName(intent.root_id));
  const row = await db
    .selectFrom("service.nonce_reservation as s")
    .innerJoin("service.attempt as a", (join) =>
      join.onRef("a.chain_id", "=", "s.chain_id").onRef("a.addr", "=", "s.addr").onRef("a.nonce", "=", "s.nonce"),
    )
    .select("s.nonce")
    .where("s.chain_id", "=", chain.id)
    .where("s.found", "=", true)
    .where("s.state", "=", "open")
    .where("s.found_root", "<>", intent.root_id)
    // The bytes of its call are in those of the transaction as they are.
    .where(sql<boolean>`position(${name}::bytea IN a.raw) > 0`)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
