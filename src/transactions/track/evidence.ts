import type { Hash } from "viem";
import type { Chain } from "../../chains.ts";
import { toAddress, toBytes, toHash } from "../../db/bytes.ts";
import { NodeFault } from "../../rpc/endpoint.ts";
import { agreeOnOutcome } from "../../rpc/nodes.ts";
import { calls, parseHex, type Receipt } from "../../rpc/reads.ts";
import type { RelayContext } from "../chain/context.ts";
import { agreeOnDone, type Elsewhere, findElsewhere, isIntentDone } from "../chain/done-elsewhere.ts";
import { findNonces, type SentTransaction } from "../chain/find-nonces.ts";
import { type ContentKind, isCallOf, kindOfContent } from "../chain/own-content.ts";
import { announcesOperation, refusalInBatch } from "../chain/request-call.ts";
import { lackedRole } from "../chain/roles.ts";
import { announcesCollection, effectOfUpdate, verifyDeployment } from "../chain/verify-deployment.ts";
import { findFault } from "../chain/verify-operation.ts";
import { type ChainView, readBlockHashes, readReceipts } from "../chain/view.ts";
import { type Answers, type Outcome, openStates, type Question, type Seen, type Tx } from "../lifecycle.ts";
import { type Intent, isOperation } from "../store/intents.ts";
import type { NonceReservation } from "../store/nonces.ts";
import { findOwnDeployment, type OwnDeployment } from "../submit/recover-request.ts";
import { kindOnChain } from "./watch-wallets.ts";
import { txOf, type Watched } from "./watched-rows.ts";

/** What a round reads from the chain for all its requests. */
export interface Look {
  view: ChainView;
  /** Receipts of transactions in canonical blocks. */
  receipts: ReadonlyMap<Hash, Receipt>;
  /** Block hashes by number, where enough endpoints agree. */
  blocks: ReadonlyMap<bigint, Hash>;
  /** Per intent, the consecutive rounds in which its nonce was used and none of its transactions had a receipt. */
  missing: Map<string, number>;
}

/** Endpoints index receipts late, and may be wrong; a nonce that is really gone stays gone. */
const roundsWithoutReceipt = 5;

/** @param items receipts are read for those in no block and for members of batches, block hashes for all mined ones. */
export async function readLook(
  services: RelayContext,
  chain: Chain,
  view: ChainView,
  missing: Look["missing"],
  items: readonly Watched[],
): Promise<Look> {
  const nodes = services.relay.nodes(chain);
  const inBlocks = items.map(txOf);
  const shared = inBlocks.flatMap(({ share, mined }) => (share === "member" && mined ? [mined.hash] : []));
  const signed = items.flatMap(({ attempts }) => attempts.map(({ hash }) => toHash(hash)));
  const receipts = await readReceipts(nodes, [...new Set([...shared, ...signed])]);
  const numbers = inBlocks.flatMap(({ mined }) => (mined && mined.block <= view.head ? [mined.block] : []));
  return { view, receipts, blocks: await readBlockHashes(nodes, numbers, chain.relay.quorum), missing };
}

/** What the round's reading shows of one request. */
export function seenOf(services: RelayContext, item: Watched, tx: Tx, look: Look): Seen {
  const { view, receipts, blocks } = look;
  const hashes =
    tx.share === "member"
      ? [[tx.mined?.hash, false] as const]
      : item.attempts.map(({ hash, kind }) => [toHash(hash), kind === "cancellation"] as const);
  const outcomes = hashes.flatMap(([hash, isEmpty]) => {
    const receipt = hash && receipts.get(hash);
    return receipt ? [outcomeOf(item.intent, receipt, isEmpty)] : [];
  });
  const isOpen = (openStates as readonly string[]).includes(tx.state);
  for (const { how, hash } of isOpen ? outcomes : [])
    if (how === "silent")
      services.log.error({ intent: item.intent.id, hash }, "a transaction succeeded without its event");
  return {
    head: view.head,
    final: view.finalized,
    outcomes,
    blockNow: (tx.mined && blocks.get(tx.mined.block)) ?? null,
    nonceSpent: isOpen && countMissing(item, outcomes, look) >= roundsWithoutReceipt,
  };
}

function outcomeOf(intent: Intent, receipt: Receipt, isEmpty: boolean): Outcome {
  const { transactionHash: hash, blockNumber: block, blockHash, status } = receipt;
  const refusal = intent.batch_call || intent.state === "batched" ? refusalInBatch(receipt, intent) : null;
  const how = isEmpty ? "cancellation" : status === 1n && refusal === null ? announced(receipt, intent) : "reverted";
  return { hash, block, blockHash, how, refusal };
}

function announced(receipt: Receipt, intent: Intent): "ok" | "silent" {
  if (intent.kind === "update") return "ok";
  const says = isOperation(intent.kind) ? announcesOperation(receipt, intent) : announcesCollection(receipt, intent);
  return says ? "ok" : "silent";
}

/** Number of consecutive rounds, this one included, in which its nonce was used for good without a receipt. */
function countMissing({ intent, reservation }: Watched, outcomes: readonly Outcome[], { view, missing }: Look): number {
  const wallet = reservation && view.wallets.get(toAddress(reservation.addr));
  const isSpent = reservation && wallet?.finalNonce != null && wallet.finalNonce > reservation.nonce;
  if (isSpent && outcomes.every(({ how }) => how === "silent"))
    missing.set(intent.id, (missing.get(intent.id) ?? 0) + 1);
  else missing.delete(intent.id);
  return missing.get(intent.id) ?? 0;
}

/** Answers the questions of `decide` about one request, by asking endpoints. */
export class Inquiry {
  readonly #services: RelayContext;
  readonly #chain: Chain;
  readonly #item: Watched;
  readonly #tx: Tx;
  readonly #look: Look;
  /** What another transaction did, once that was read. */
  elsewhere: Elsewhere | null = null;
  /** What used the nonce, once that was read. */
  used: { deployment: OwnDeployment } | { sent: SentTransaction; kind: ContentKind } | null = null;

  constructor(services: RelayContext, chain: Chain, item: Watched, tx: Tx, look: Look) {
    this.#services = services;
    this.#chain = chain;
    this.#item = item;
    this.#tx = tx;
    this.#look = look;
  }

  /** @throws NodeFault, ServiceError while endpoints do not answer: then nothing is decided. */
  async answer(question: Question): Promise<Answers[Question]> {
    const [services, chain, { intent }] = [this.#services, this.#chain, this.#item];
    switch (question) {
      case "agreement":
        return await this.#agreement();
      case "fault":
        return await this.#fault();
      case "done":
        return await isIntentDone(services, chain, intent);
      case "doneByAll":
        return await agreeOnDone(services, chain, intent);
      case "elsewhere":
        this.elsewhere = await findElsewhere(services, chain, intent);
        return this.elsewhere === null ? "none" : this.elsewhere.fault === null ? "done" : "fault";
      case "stands": {
        // With a nonce, the retry may still take over what is not final yet; without one, finality can be awaited.
        const at = this.#item.reservation ? this.#look.view.finalized : this.#look.view.head;
        const call = calls.code(toAddress(intent.predicted_addr), at);
        const [code] = await services.relay.nodes(chain).first((node) => node.ask([call]));
        return parseHex(code, "a contract's code") !== "0x";
      }
      case "effect":
        return await this.#effect();
      case "refusal":
        return refusalInBatch(await this.#receipt(), intent);
      case "roleLost": {
        const { mined } = this.#tx;
        const wallet = this.#item.reservation?.addr;
        if (!mined || !wallet) return false;
        return await lackedRole(
          services.relay.nodes(chain),
          toAddress(intent.factory),
          toAddress(wallet),
          mined.blockHash,
        );
      }
      case "outOfGas":
        return await this.#outOfGas();
      case "usedBy":
        return await this.#usedBy();
      default:
        return question satisfies never;
    }
  }

  /** The receipt of its mined transaction. @throws NodeFault when no endpoint has it any more. */
  async #receipt(): Promise<Receipt> {
    const hash = this.#tx.mined?.hash;
    const known = hash && this.#look.receipts.get(hash);
    if (known) return known;
    const read = hash && (await readReceipts(this.#services.relay.nodes(this.#chain), [hash])).get(hash);
    if (!read) throw new NodeFault("no endpoint has the receipt of a mined transaction any more");
    return read;
  }

  async #agreement(): Promise<Answers["agreement"]> {
    const { mined, share, state } = this.#tx;
    if (!mined) return "unknown";
    const nodes = this.#services.relay.nodes(this.#chain);
    // A cancellation counts even if it fails. A batch may succeed although the operator refuses the lead's call: then
    // the lead ends only if enough endpoints report the intent as not done.
    const isEither = state === "mined_cancellation" || (state === "mined_reverted" && share === "lead");
    const succeeded = share === "member" ? (await this.#receipt()).status === 1n : isEither ? null : state === "mined";
    return await agreeOnOutcome(nodes, this.#chain.relay.quorum, { ...mined, succeeded });
  }

  async #fault(): Promise<string | null> {
    const { intent } = this.#item;
    const { mined } = this.#tx;
    // The update's bytes were ours and succeeded; what others changed in the same block does not matter here.
    if (!mined || intent.kind === "update") return null;
    if (intent.kind !== "deploy") return await findFault(this.#services, this.#chain, intent, await this.#receipt());
    return await verifyDeployment(this.#services.relay.nodes(this.#chain), intent, mined.block, mined.hash);
  }

  async #effect(): Promise<Answers["effect"]> {
    const { intent, attempts } = this.#item;
    const { mined } = this.#tx;
    const unmined = attempts.find(({ hash, kind }) => kind !== "cancellation" && this.#look.receipts.has(toHash(hash)));
    const hash = mined?.hash ?? (unmined && toHash(unmined.hash));
    if (!hash) return "unknown";
    const nodes = this.#services.relay.nodes(this.#chain);
    const receipt = this.#look.receipts.get(hash) ?? (await readReceipts(nodes, [hash])).get(hash);
    return receipt ? await effectOfUpdate(this.#services, this.#chain, intent, receipt) : "unknown";
  }

  /**
   * The gas limit is a fifth above the estimate, so a transaction with a true estimate ends well below nine tenths of
   * the limit; nested calls leave a few 64ths unused when they run out (EIP-150).
   */
  async #outOfGas(): Promise<boolean> {
    const { gasUsed, transactionHash } = await this.#receipt();
    const { gas } = await this.#services.db
      .selectFrom("service.attempt")
      .select("gas")
      .where("hash", "=", toBytes(transactionHash))
      .executeTakeFirstOrThrow();
    return gasUsed * 10n >= gas * 9n;
  }

  /** Finds by content which transaction used the nonce for good: none of the stored transactions has a receipt. */
  async #usedBy(): Promise<Answers["usedBy"]> {
    const [services, chain, { intent, reservation }] = [this.#services, this.#chain, this.#item];
    if (!reservation) return { by: "unknown" };
    const deployment = intent.kind === "deploy" ? await findOwnDeployment(services, chain, intent) : null;
    if (deployment) {
      this.used = { deployment };
      return { by: "own", outcome: ownOutcome(intent, deployment.receipt, false), ofOurs: true };
    }
    const wallet = toAddress(reservation.addr);
    const from = await blockBefore(services, reservation);
    const [sent] = await findNonces(services, chain, wallet, [reservation.nonce], from ?? undefined);
    if (!sent || sent.nonce !== reservation.nonce || sent.receipt.blockNumber > this.#look.view.finalized)
      return { by: "unknown" };
    const isEmpty = sent.data === "0x" && sent.value === 0n && sent.to === sent.from;
    const isOwn = sent.raw !== null && (isEmpty || isCallOf(intent, sent.to, sent.data));
    const kind = isOwn ? kindOfContent(chain, wallet, sent) : await kindOnChain(services, chain, wallet, sent);
    this.used = { sent, kind };
    if (isOwn) return { by: "own", outcome: ownOutcome(intent, sent.receipt, isEmpty), ofOurs: kind !== "external" };
    return { by: kind === "external" || !sent.raw ? "stranger" : "ours" };
  }
}

/** The call is the request's own, so success suffices: the result is compared before the request is confirmed. */
function ownOutcome(intent: Intent, receipt: Receipt, isEmpty: boolean): Outcome {
  const outcome = outcomeOf(intent, receipt, isEmpty);
  return outcome.how === "silent" ? { ...outcome, how: "ok" } : outcome;
}

/** The block of the nearest lower nonce known to be mined: this nonce cannot be in an earlier one. */
async function blockBefore(services: RelayContext, reservation: NonceReservation): Promise<bigint | null> {
  const row = await services.db
    .selectFrom("service.nonce_reservation")
    .select("mined_block")
    .where("chain_id", "=", reservation.chain_id)
    .where("addr", "=", reservation.addr)
    .where("nonce", "<", reservation.nonce)
    .where("mined_block", "is not", null)
    .orderBy("nonce", "desc")
    .limit(1)
    .executeTakeFirst();
  return row?.mined_block ?? null;
}
