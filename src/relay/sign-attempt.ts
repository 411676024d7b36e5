import { sql } from "kysely";
import type { Address, Hex } from "viem";
import type { Chain } from "../chains.ts";
import type { Services } from "../services.ts";
import { toAddress, toBytes } from "./bytes.ts";
import { calls } from "./chain-reads.ts";
import { crashPoint, hasDefect } from "./faults.ts";
import type { Fees } from "./fees.ts";
import type { Intent } from "./intents.ts";
import { forgetAttempts } from "./seeded-defects.ts";
import { signChecked } from "./signer.ts";
import { checkProposal } from "./signing-rules.ts";
import type { Slot } from "./slots.ts";

export interface AttemptPlan {
  kind: "deploy" | "update" | "noop";
  to: Address;
  data: Hex;
  gas: bigint;
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
  services: Services,
  chain: Chain,
  intent: Intent,
  slot: Slot,
  plan: AttemptPlan,
): Promise<Intent | null> {
  const sender = toAddress(slot.addr);
  const signer = services.relay.signers(chain).find(({ address }) => address.toLowerCase() === sender);
  if (!signer) throw new Error(`intent ${intent.id} has a nonce of wallet ${sender}, whose key is not configured`);
  const transaction = {
    chainId: chain.id,
    to: plan.to,
    data: plan.data,
    value: 0n,
    gas: plan.gas,
    ...plan.fees,
  };
  checkProposal(chain, intent, sender, transaction);
  const nonce = hasDefect("nonce-recycled") ? await recycledNonce(services, slot) : slot.nonce;
  const { raw, hash } = await signChecked(signer, { type: "eip1559", ...transaction, nonce: Number(nonce) });
  const first = intent.state === "assigned";
  if (hasDefect("send-before-persist")) await services.relay.nodes(chain).first((node) => node.ask([calls.send(raw)]));
  crashPoint(first ? "sign-before-persist" : "bump-before-persist");
  const signed = await storeAttempt(services, intent, slot, { hash, raw, nonce, plan });
  if (signed) crashPoint(first ? "sign-after-persist" : "bump-after-persist");
  return signed;
}

/** Moves the intent and keeps the bytes, both or neither, in one statement. */
async function storeAttempt(
  services: Services,
  intent: Intent,
  slot: Slot,
  { hash, raw, nonce, plan }: { hash: Hex; raw: Hex; nonce: bigint; plan: AttemptPlan },
): Promise<Intent | null> {
  if (hasDefect("old-attempts-forgotten"))
    await services.db.transaction().execute((transaction) => forgetAttempts(transaction, slot));
  const compared = hasDefect("compare-and-set-dropped")
    ? sql``
    : sql`AND state = ${intent.state} AND version = ${intent.version}`;
  // The answer names this hash: it has to outlive a crash of the database, whatever that was set to.
  const { rows } = await sql<Intent & { synchronous: string }>`
    WITH moved AS (
      UPDATE service.intent SET state = ${intent.state === "assigned" ? "signed" : intent.state},
        version = ${intent.version + 1}, hold_reason = NULL, hold_detail = NULL
      WHERE id = ${intent.id} ${compared}
      RETURNING *),
    kept AS (
      INSERT INTO service.attempt (hash, chain_id, addr, nonce, kind, raw, max_fee, tip, gas, head_block)
      SELECT ${toBytes(hash)}, ${slot.chain_id}, ${slot.addr}, ${nonce}, ${plan.kind}, ${toBytes(raw)},
        ${plan.fees.maxFeePerGas}, ${plan.fees.maxPriorityFeePerGas}, ${plan.gas}, ${plan.headBlock} FROM moved)
    SELECT moved.*, set_config('synchronous_commit', 'on', true) AS synchronous FROM moved`.execute(services.db);
  const [row] = rows;
  if (!row) return null;
  const { synchronous: _, ...moved } = row;
  return moved;
}

/** A defect for the chaos run: somebody else's nonce, because its transaction seems to be lost. */
async function recycledNonce(services: Services, slot: Slot): Promise<bigint> {
  const stale = await services.db
    .selectFrom("service.slot")
    .select("nonce")
    .where("chain_id", "=", slot.chain_id)
    .where("addr", "=", slot.addr)
    .where("state", "=", "open")
    .where("created_at", "<", sql<Date>`clock_timestamp() - interval '1 second'`)
    .orderBy("nonce")
    .executeTakeFirst();
  return stale?.nonce ?? slot.nonce;
}
