import { sql } from "kysely";
import type { Address, Hex } from "viem";
import type { Chain } from "../../chains.ts";
import { toAddress, toBytes } from "../../db/bytes.ts";
import type { CallKind } from "../../db/tables/relay.ts";
import { callersPolicy } from "../../signing/in-process.ts";
import { checkOrder, SigningRefused } from "../../signing/rules.ts";
import { type SigningOrder, signChecked } from "../../signing/signer.ts";
import type { RelayContext } from "../chain/context.ts";
import type { Fees } from "../chain/fees.ts";
import { isLegacy } from "../chain/market.ts";
import { callKind, isOperation } from "../chain/operation.ts";
import { batched } from "../store/batch.ts";
import { failpoint } from "../store/failpoint.ts";
import { asMoved, type Intent, type Moved } from "../store/intents.ts";
import type { NonceReservation } from "../store/nonces.ts";

export interface AttemptPlan {
  kind: CallKind | "cancellation";
  to: Address;
  data: Hex;
  gas: bigint;
  /** The most that the data may take on the chain below, beside the gas. */
  dataWei: bigint;
  fees: Fees;
  /** The newest block when the fees were read. */
  headBlock: bigint;
}

/**
 * Signs a transaction at an intent's nonce and commits the bytes; nothing is sent here, and nothing may
 * be sent before this has returned.
 *
 * @returns the intent, `signed` if it was assigned; null when another process moved it first (its bytes
 *   count, these are dropped).
 */
export async function signAttempt(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  reservation: NonceReservation,
  wanted: AttemptPlan,
): Promise<Intent | null> {
  const sender = toAddress(reservation.addr);
  const signer = services.relay.signers(chain).find(({ address }) => address.toLowerCase() === sender);
  if (!signer) throw new Error(`intent ${intent.id} has a nonce of wallet ${sender}, whose key is not configured`);
  const legacy = isLegacy(chain);
  const { maxFeePerGas } = wanted.fees;
  const plan = legacy ? { ...wanted, fees: { maxFeePerGas, maxPriorityFeePerGas: maxFeePerGas } } : wanted;
  const transaction = {
    chainId: chain.id,
    to: plan.to,
    data: plan.data,
    value: 0n,
    gas: plan.gas,
    ...plan.fees,
    ...(legacy ? { legacy } : {}),
  };
  const order = { kind: plan.kind, transaction: { ...transaction, nonce: Number(reservation.nonce) } };
  checkProposal(chain, intent, sender, order);
  const { raw, hash } = await signChecked(signer, order);
  const first = intent.state === "assigned";
  failpoint(first ? "sign-before-persist" : "bump-before-persist");
  const signed = await storeTogether(services, "", { intent, reservation, plan, hash, raw });
  if (signed) failpoint(first ? "sign-after-persist" : "bump-after-persist");
  return signed;
}

interface SignedBytes {
  intent: Intent;
  reservation: NonceReservation;
  plan: AttemptPlan;
  hash: Hex;
  raw: Hex;
}

/** Signatures that are ready while others are being stored are stored together. */
const storeTogether = batched(storeAll, { most: 32, retryIndividually: true });

/**
 * Moves each intent and keeps its bytes, both or neither, in one statement.
 *
 * @returns null for an intent that another process moved first.
 */
async function storeAll(services: RelayContext, signed: readonly SignedBytes[]): Promise<(Intent | null)[]> {
  const first = new Map(signed.map((item) => [item.intent.id, item] as const).reverse());
  const items = [...first.values()];
  const column = <T>(read: (item: SignedBytes) => T) => items.map(read);
  // Answers name these hashes: they have to outlive a crash of the database, whatever that was set to.
  const { rows } = await sql<Moved & { synchronous: string }>`
    WITH signed AS (
      SELECT * FROM unnest(
        ${column(({ intent }) => intent.id)}::uuid[], ${column(({ intent }) => intent.state)}::text[],
        ${column(({ intent }) => intent.version)}::int[], ${column(({ hash }) => toBytes(hash))}::bytea[],
        ${column(({ reservation }) => reservation.addr)}::bytea[], ${column(({ reservation }) => String(reservation.nonce))}::bigint[],
        ${column(({ plan }) => plan.kind)}::text[], ${column(({ raw }) => toBytes(raw))}::bytea[],
        ${column(({ plan }) => String(plan.fees.maxFeePerGas))}::numeric[],
        ${column(({ plan }) => String(plan.fees.maxPriorityFeePerGas))}::numeric[],
        ${column(({ plan }) => String(plan.gas))}::bigint[], ${column(({ plan }) => String(plan.dataWei))}::numeric[],
        ${column(({ plan }) => String(plan.headBlock))}::bigint[]
      ) AS s (id, state, version, hash, addr, nonce, kind, raw, max_fee, tip, gas, data_wei, head_block)),
    moved AS (
      UPDATE service.intent i SET state = CASE s.state WHEN 'assigned' THEN 'signed' ELSE s.state END,
        version = s.version + 1, hold_reason = NULL, hold_detail = NULL
      FROM signed s WHERE i.id = s.id AND i.state = s.state AND i.version = s.version
      RETURNING i.id, i.chain_id, i.state, i.version, i.updated_at, i.settled_at),
    kept AS (
      INSERT INTO service.attempt (hash, chain_id, addr, nonce, kind, raw, max_fee, tip, gas, data_wei, head_block)
      SELECT s.hash, moved.chain_id, s.addr, s.nonce, s.kind, s.raw, s.max_fee, s.tip, s.gas, s.data_wei, s.head_block
      FROM moved JOIN signed s ON s.id = moved.id)
    SELECT id, state, version, updated_at, settled_at, set_config('synchronous_commit', 'on', true) AS synchronous
    FROM moved`.execute(services.db);
  const moved = new Map(rows.map(({ synchronous: _, ...row }) => [row.id, row] as const));
  return signed.map((item) => {
    const row = moved.get(item.intent.id);
    // Of two signatures for one intent in a batch only the first was stored.
    return row && first.get(item.intent.id) === item ? asMoved(item.intent, row) : null;
  });
}

/**
 * What may be signed for an intent: what the rules of signing allow (src/signing/rules.ts, which whoever holds the
 * keys keeps too), and of that only a call of the intent's own factory, operator or collection, or a transfer of nothing to
 * oneself.
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
