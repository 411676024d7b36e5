import { type Kysely, sql } from "kysely";
import { type Address, type Hex, parseTransaction } from "viem";
import type { Chain } from "../../chains.ts";
import { toAddress, toBytes, toHex } from "../../db/bytes.ts";
import type { Database } from "../../db/database.ts";
import type { CallKind } from "../../db/tables/relay.ts";
import { callersPolicy } from "../../signing/in-process.ts";
import { checkOrder, SigningRefused } from "../../signing/rules.ts";
import { type SigningOrder, signChecked } from "../../signing/signer.ts";
import { SignerError } from "../../signing/trouble.ts";
import type { RelayContext } from "../chain/context.ts";
import { bumpFees, type Fees, isRaised } from "../chain/fees.ts";
import { dataFee, dataRoom, isLegacy } from "../chain/market.ts";
import { unassignedStates } from "../lifecycle.ts";
import { failpoint } from "../store/failpoint.ts";
import { asMoved, callKind, type Intent, isOperation, type Moved, moveIntent } from "../store/intents.ts";
import type { Attempt, NonceReservation } from "../store/nonces.ts";
import { raiseGasReservation, refusalHolds } from "./hold-intent.ts";
import { feeCap, type Preflight } from "./preflight.ts";

interface AttemptPlan {
  kind: CallKind | "cancellation";
  to: Address;
  data: Hex;
  gas: bigint;
  /** The maximum L1 data fee, in addition to the gas. */
  dataWei: bigint;
  fees: Fees;
  /** The newest block when the fees were read. */
  headBlock: bigint;
}

/** The transaction of a simulated call. */
export function planAttempt({ kind }: Intent, ready: Preflight & { fees: Fees }): AttemptPlan {
  const { call, gas, dataWei, fees, headBlock } = ready;
  return { kind: callKind(kind), to: call.to, data: call.data, gas, dataWei, fees, headBlock };
}

/** A signed transaction, ready to be stored. */
export interface SignedAttempt {
  intent: Intent;
  addr: Buffer;
  nonce: bigint;
  plan: AttemptPlan;
  hash: Hex;
  raw: Hex;
}

/** Signs a transaction; stores and sends nothing. @throws SignerError; Error naming the rule that it breaks. */
export async function signPlan(
  services: RelayContext,
  chain: Chain,
  { intent, addr, nonce, plan: wanted }: Pick<SignedAttempt, "intent" | "addr" | "nonce" | "plan">,
): Promise<SignedAttempt> {
  const sender = toAddress(addr);
  const signer = services.relay.signers(chain).find(({ address }) => address.toLowerCase() === sender);
  if (!signer) throw new Error(`intent ${intent.id} is to be signed by wallet ${sender}, whose key is not configured`);
  const legacy = isLegacy(chain);
  const { maxFeePerGas } = wanted.fees;
  const plan = legacy ? { ...wanted, fees: { maxFeePerGas, maxPriorityFeePerGas: maxFeePerGas } } : wanted;
  const { kind, to, data, gas, fees } = plan;
  const transaction = { chainId: chain.id, nonce: Number(nonce), to, data, value: 0n, gas, ...fees };
  const order = { kind, transaction: legacy ? { ...transaction, legacy } : transaction };
  checkProposal(chain, intent, sender, order);
  const { raw, hash } = await signChecked(signer, order);
  return { intent, addr, nonce, plan, hash, raw };
}

/**
 * Signs a transaction at the intent's nonce and commits the bytes. It sends nothing, and nothing may be sent before it
 * has returned.
 *
 * @returns the intent; null when another process moved it first (that process's bytes count, these are dropped).
 */
export async function signAttempt(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  { addr, nonce }: NonceReservation,
  plan: AttemptPlan,
): Promise<Intent | null> {
  const signed = await signPlan(services, chain, { intent, addr, nonce, plan });
  failpoint("bump-before-persist");
  const [stored] = await storeSigned(services.db, [signed]);
  if (stored) failpoint("bump-after-persist");
  return stored ?? null;
}

/**
 * Moves each intent that is as it was seen and keeps its bytes, both or neither, in one statement.
 *
 * @param signed at most one of each intent.
 * @param next whether these are the wallet's next nonces, of one wallet in ascending order: then each is reserved too.
 * @returns the intents that were stored, in their order.
 */
export async function storeSigned(
  db: Kysely<Database>,
  signed: readonly SignedAttempt[],
  next = false,
): Promise<Intent[]> {
  const column = <T>(read: (item: SignedAttempt) => T) => signed.map(read);
  // Answers contain these hashes, so they have to survive a crash of the database, whatever its setting was.
  const { rows } = await sql<Moved & { synchronous: string }>`
    WITH signed AS (
      SELECT * FROM unnest(
        ${column(({ intent }) => intent.id)}::uuid[], ${column(({ intent }) => intent.state)}::text[],
        ${column(({ intent }) => intent.version)}::int[], ${column(({ hash }) => toBytes(hash))}::bytea[],
        ${column(({ addr }) => addr)}::bytea[], ${column(({ nonce }) => String(nonce))}::bigint[],
        ${column(({ plan }) => plan.kind)}::text[], ${column(({ raw }) => toBytes(raw))}::bytea[],
        ${column(({ plan }) => String(plan.fees.maxFeePerGas))}::numeric[],
        ${column(({ plan }) => String(plan.fees.maxPriorityFeePerGas))}::numeric[],
        ${column(({ plan }) => String(plan.gas))}::bigint[], ${column(({ plan }) => String(plan.dataWei))}::numeric[],
        ${column(({ plan }) => String(plan.headBlock))}::bigint[]
      ) AS s (id, state, version, hash, addr, nonce, kind, raw, max_fee, tip, gas, data_wei, head_block)),
    moved AS (
      UPDATE service.intent i SET state = CASE WHEN s.state IN (${unsigned}) THEN 'signed' ELSE s.state END,
        version = s.version + 1, hold_reason = NULL, hold_detail = NULL
      FROM signed s WHERE i.id = s.id AND i.state = s.state AND i.version = s.version
      RETURNING i.id, i.chain_id, i.state, i.version, i.updated_at, i.settled_at),
    reserved AS (
      INSERT INTO service.nonce_reservation (chain_id, addr, nonce, intent_id, kind)
      SELECT moved.chain_id, s.addr, s.nonce, s.id, s.kind FROM moved JOIN signed s ON s.id = moved.id WHERE ${next}),
    counted AS (
      UPDATE service.relayer_wallet l SET next_nonce = n.next
      FROM (SELECT moved.chain_id, s.addr, max(s.nonce) + 1 AS next FROM moved JOIN signed s ON s.id = moved.id
        WHERE ${next} GROUP BY moved.chain_id, s.addr) n
      WHERE l.chain_id = n.chain_id AND l.addr = n.addr AND l.next_nonce < n.next),
    kept AS (
      INSERT INTO service.attempt (hash, chain_id, addr, nonce, kind, raw, max_fee, tip, gas, data_wei, head_block)
      SELECT s.hash, moved.chain_id, s.addr, s.nonce, s.kind, s.raw, s.max_fee, s.tip, s.gas, s.data_wei, s.head_block
      FROM moved JOIN signed s ON s.id = moved.id)
    SELECT id, state, version, updated_at, settled_at, set_config('synchronous_commit', 'on', true) AS synchronous
    FROM moved`.execute(db);
  const moved = new Map(rows.map(({ synchronous: _, ...row }) => [row.id, row] as const));
  return signed.flatMap(({ intent }) => {
    const row = moved.get(intent.id);
    return row ? [asMoved(intent, row)] : [];
  });
}

const unsigned = sql.join([...unassignedStates, "assigned"].map((state) => sql.lit(state)));

/**
 * Checks that a transaction may be signed for an intent: the signing rules allow it (src/signing/rules.ts, which the
 * holder of the keys applies too), and it is a call of the intent's own factory, operator or collection, or an empty
 * transaction to the sender itself.
 *
 * @throws Error naming the rule that it breaks.
 */
export function checkProposal(chain: Chain, intent: Intent, sender: Address, order: SigningOrder): void {
  const deny = (why: string) => {
    throw new Error(`signing refused for intent ${intent.id}: ${why}`);
  };
  if (intent.chain_id !== chain.id) deny("another chain");
  try {
    checkOrder(callersPolicy(chain), sender, order);
  } catch (error) {
    if (error instanceof SigningRefused) deny(error.message);
    throw error;
  }
  if (order.kind === "cancellation") return;
  if (order.kind !== callKind(intent.kind)) deny(`${order.kind} for ${intent.kind}`);
  const to = order.transaction.to.toLowerCase();
  if (intent.kind === "deploy" && to !== toAddress(intent.factory)) deny("not the intent's factory");
  if (isOperation(intent.kind) && to !== toAddress(intent.factory)) deny("not the intent's operator");
  if (intent.kind === "update" && to !== toAddress(intent.predicted_addr)) deny("not the intent's collection");
}

const cancellationGas = 21_000n;

/** Inputs of the decision to replace a pending transaction. */
interface FeeView {
  /** The newest block. */
  head: bigint;
  fees: Fees;
  /** See `Market`. */
  dataByteWei: bigint;
}

/**
 * Whether an intent's newest bytes have waited long enough to be replaced. Counted in blocks, because a clock that
 * jumps must not raise the price.
 *
 * @param nextNonce the wallet's transaction count in the newest block: only the lowest open nonce can pay too little.
 */
export function isStale(
  chain: Chain,
  reservation: NonceReservation,
  newest: Attempt | undefined,
  head: bigint,
  nextNonce: bigint,
): boolean {
  if (!newest || newest.head_block === null || newest.kind === "imported") return false;
  return reservation.nonce === nextNonce && head - newest.head_block >= BigInt(chain.relay.bumpAfterBlocks);
}

/**
 * Signs the same call, or an empty transaction when the intent is cancelled, at the same nonce with higher fees. At the
 * operator's cap, or when the spending limits are exhausted, nothing is signed: the intent gets `hold_reason` fee,
 * budget or signer_day, and the signed bytes are sent again.
 *
 * @param attempts newest first; empty for an intent that is cancelled before its first signature.
 * @returns the intent's current row; null when another process moved it.
 */
export async function replaceAttempt(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  reservation: NonceReservation,
  attempts: readonly Attempt[],
  view: FeeView,
): Promise<Intent | null> {
  const [newest] = attempts;
  const empty = intent.cancel_requested_at !== null || newest?.kind === "cancellation" || !newest;
  const old = newest ? { maxFeePerGas: BigInt(newest.max_fee), maxPriorityFeePerGas: BigInt(newest.tip) } : null;
  const call = empty || !newest ? null : parseTransaction(toHex(newest.raw));
  const gas = call?.gas ?? cancellationGas;
  const within = (cap: bigint) =>
    old ? bumpFees(old, view.fees, cap) : view.fees.maxFeePerGas <= cap ? view.fees : null;
  const data = call?.data ?? "0x";
  const dataWei = dataRoom * dataFee(view, data);
  const cap = feeCap(chain, intent, { gas, dataWei });
  const wanted = within(chain.relay.maxFeeWei);
  if (wanted && wanted.maxFeePerGas > cap) {
    const raising = await raiseGasReservation(services, chain, intent, gas * wanted.maxFeePerGas + dataWei, true);
    // Another process moved it: it may have replaced these bytes already.
    if (raising && !raising.raised) return null;
    if (raising) return await replaceRaised(raising.intent);
  }
  const fees = within(cap);
  if (!fees) {
    const reason = wanted ? "budget" : "fee";
    services.log.warn({ intent: intent.id, cap, reason }, "a cap keeps a transaction waiting");
    return await show(reason);
  }
  if (old && !isRaised(old, fees) && empty === (newest?.kind === "cancellation")) return intent;
  services.log.info({ intent: intent.id, nonce: reservation.nonce, ...fees, empty }, "replacing a transaction");
  const self = toAddress(reservation.addr);
  try {
    return await signAttempt(services, chain, intent, reservation, {
      kind: empty ? "cancellation" : callKind(intent.kind),
      to: call?.to ?? self,
      data,
      gas,
      dataWei,
      fees,
      headBlock: view.head,
    });
  } catch (error) {
    if (!(error instanceof SignerError) || error.reason === null || !newest) throw error;
    // Meanwhile the signed bytes are sent again.
    return await show(refusalHolds[error.reason]);
  }

  async function show(reason: string): Promise<Intent | null> {
    return intent.hold_reason === reason ? intent : await moveIntent(services.db, intent, intent.state, reason);
  }

  /** Null when another process moved the intent meanwhile. */
  async function replaceRaised(raised: Intent): Promise<Intent | null> {
    if (raised.state !== intent.state || raised.version !== intent.version + 1) return null;
    return await replaceAttempt(services, chain, raised, reservation, attempts, view);
  }
}
