import { type Kysely, sql } from "kysely";
import { formatGwei } from "viem";
import { toAddress, toHash } from "../../db/bytes.ts";
import type { Database } from "../../db/database.ts";
import { type Intent, isOperation, isUnassigned } from "../store/intents.ts";
import { findReservation, listAttempts } from "../store/nonces.ts";
import { tokensOf } from "../store/payloads.ts";

/** The meaning of each state, for a person who has to decide whether to act. */
const meanings: Record<Intent["state"], string> = {
  queued: "accepted; it has no nonce yet",
  held: "accepted, but something has to change first; it is tried again by itself",
  assigned: "it has its nonce and is about to be signed",
  batched: "it is in the transaction of another mint of its contract",
  signed: "its bytes are stored and about to be sent",
  in_flight: "sent; no block has it yet",
  mined: "in a block; not deep enough yet",
  mined_reverted: "in a block, where the chain refused it; it counts as failed once that is final",
  mined_cancellation: "cancelled: the empty transaction is in a block",
  confirmed: "deep enough to be shown",
  finalized: "done for good",
  failed_onchain: "the chain refused it for good; nothing more is tried",
  cancelled: "cancelled; nothing more is tried",
  expired: "never sent within its time; nothing more is tried",
  nonce_conflict: "its nonce was used up for something else; it goes on with another one",
  retried: "it goes on as a retry, below",
};

const reasons: Record<string, string> = {
  balance: "the paying wallet has too little: fund it, and it goes on by itself",
  fee: "the network's fees are over the cap (MAX_FEE_GWEI_…): it goes on when they fall",
  budget:
    "the spending limits (BUDGET_…) have no room for it at today's fees: it goes on when they have, or when fees fall",
  wallet: "the wallet is closed: see `mintyard wallets`",
  roles:
    "neither lists of roles nor the end of the service's rights are signed here: set SIGN_ROLES_<CHAIN> of the signer, the API and " +
    "the worker if they are to be",
  signer_day:
    "the signer has signed what it may sign in a day (UTC): wait for the next one, or raise SIGNER_DAY_<CHAIN> of the signer and " +
    "restart it; look at its log for who asked for so much",
  simulation: "the contract would refuse the call as things are",
  done_elsewhere:
    "the operator contract has done it by a transaction whose rows were lost: it ends as that one once that is final",
  batch_failed: "the transaction that it shared failed, maybe for another mint in it: it is repeated, alone",
  refused: "the contract refused it, in a transaction whose other mints were carried out",
  superseded: "a later update of the token was carried out while this one had to be repeated: it is not sent again",
  verification: "what stands at the address is not what was asked for",
  no_effect: "it was mined where its contract did not stand (a reorganisation): it is repeated",
  role: "the wallet had lost its relayer role when it was mined: it is repeated",
  out_of_gas: "a node estimated too little gas, and it was used up: it is repeated with a new estimate",
  nonce_passed_on:
    "a transaction of another request, whose rows were lost, had used the nonce: it goes on with another one",
  nonce_taken: "a transaction that is not ours used the nonce: treat the wallet's key as stolen",
};

/**
 * The full history of one request, for an operator: every retry, its nonce, each set of bytes ever signed, and each
 * node's answers to it.
 *
 * @param wanted id of any retry, a transaction hash, or an address.
 * @returns lines of text; null when nothing matches.
 */
export async function explainIntent(db: Kysely<Database>, wanted: string): Promise<string[] | null> {
  const roots = await findRoots(db, wanted);
  if (roots.length === 0) return null;
  const intents = await db
    .selectFrom("service.intent")
    .selectAll()
    .where("root_id", "in", roots)
    .orderBy("seq")
    .orderBy("retry_number")
    .execute();
  const parts: string[][] = [];
  for (const intent of intents) parts.push(await explainOne(db, intent));
  return parts.flat();
}

async function findRoots(db: Kysely<Database>, wanted: string): Promise<string[]> {
  const text = wanted.toLowerCase();
  const bytes = /^0x([0-9a-f]{2})+$/.test(text) ? Buffer.from(text.slice(2), "hex") : Buffer.alloc(0);
  const { rows } = await sql<{ root_id: string }>`
    SELECT root_id FROM service.intent WHERE id::text = ${text} OR predicted_addr = ${bytes}
    UNION
    SELECT root_id FROM service.intent WHERE found_tx = ${bytes}
    UNION
    SELECT i.root_id FROM service.attempt a
    JOIN service.nonce_reservation s USING (chain_id, addr, nonce) JOIN service.intent i
      ON i.id = s.intent_id OR i.root_id = s.found_root OR i.batch_lead = s.intent_id
    WHERE a.hash = ${bytes}`.execute(db);
  return rows.map((row) => row.root_id);
}

async function explainOne(db: Kysely<Database>, intent: Intent): Promise<string[]> {
  const reservation = await findReservation(db, intent.id);
  const lines = [
    `${intent.kind} ${intent.id}${intent.retry_number > 0 ? ` (retry ${intent.retry_number} of ${intent.root_id})` : ""}`,
    `  state      ${intent.state}: ${meanings[intent.state]}`,
    ...(intent.hold_reason
      ? [
          `  because    ${reasons[intent.hold_reason] ?? intent.hold_reason}${intent.hold_detail ? ` (${intent.hold_detail})` : ""}`,
        ]
      : []),
    ...(intent.cancel_requested_at ? [`  cancelled  asked for at ${intent.cancel_requested_at.toISOString()}`] : []),
    `  account    ${intent.tenant_id}`,
    `  chain      ${intent.chain_id}, ${isOperation(intent.kind) ? "contract" : "collection"} ${toAddress(intent.predicted_addr)}`,
    ...tokenLines(intent),
    ...(intent.batch_lead
      ? [`  batch      ${placeInBatch(intent, reservation !== undefined)} ${intent.batch_lead}`]
      : []),
    ...(intent.batch_call ? await memberLines(db, intent) : []),
    `  accepted   ${intent.created_at.toISOString()}, last change ${intent.updated_at.toISOString()}`,
    ...(await history(db, intent)),
  ];
  if (intent.found_tx)
    lines.push(
      `  found      ${isOperation(intent.kind) ? "it was carried out" : "its collection was made"} by ${toHash(intent.found_tx)}, at another nonce`,
    );
  if (!reservation && (intent.found_tx || intent.state === "batched")) return [...lines, ""];
  if (!reservation)
    return [...lines, `  nonce      none yet; without one it expires at ${intent.expires_at.toISOString()}`, ""];
  lines.push(`  nonce      ${reservation.nonce} of ${toAddress(reservation.addr)}`);
  if (reservation.mined_attempt)
    lines.push(
      `  mined      ${toHash(reservation.mined_attempt)} in block ${reservation.mined_block}, cost ${reservation.mined_cost_wei ?? "unknown"} wei`,
    );
  for (const attempt of (await listAttempts(db, intent.id)).reverse()) {
    const fee = `fee up to ${formatGwei(BigInt(attempt.max_fee))} gwei, tip ${formatGwei(BigInt(attempt.tip))} gwei`;
    lines.push(`  ${attempt.created_at.toISOString()}  ${attempt.kind} signed: ${toHash(attempt.hash)}`);
    lines.push(`    ${fee}, gas ${attempt.gas}`);
    const events = await db
      .selectFrom("service.attempt_event")
      .selectAll()
      .where("attempt_hash", "=", attempt.hash)
      .orderBy("id")
      .execute();
    for (const event of events)
      lines.push(
        `    ${event.at.toISOString()}  ${event.provider} reported ${event.outcome_code}${event.detail ? `: ${event.detail}` : ""}`,
      );
  }
  return [...lines, ""];
}

/** The tokens and receivers of a mint, update, burn or transfer. */
function tokenLines(intent: Intent): string[] {
  if (!["mint", "token_update", "burn", "transfer"].includes(intent.kind)) return [];
  return tokensOf(intent).tokens.map(({ tokenId, to, uri, quantity }) => {
    const parts = [
      quantity && quantity !== "1" ? `${quantity} of ` : "",
      tokenId,
      to ? ` to ${to}` : "",
      uri ? `, ${uri}` : "",
    ];
    return `  token      ${parts.join("")}`;
  });
}

/** Its states, oldest first. A return to `in_flight` is a reorganisation. */
async function history(db: Kysely<Database>, intent: Intent): Promise<string[]> {
  const rows = await db
    .selectFrom("service.intent_history")
    .selectAll()
    .where("intent_id", "=", intent.id)
    .orderBy("id")
    .execute();
  return rows.map(({ at, state, hold_reason, detail }, index) => {
    const undone = state === "in_flight" && /^(mined|confirmed)/.test(rows[index - 1]?.state ?? "");
    const words = hold_reason === null ? null : (detail ?? reasons[hold_reason]);
    const why = undone ? "its block is not on the chain any more" : words ? `${hold_reason}: ${words}` : hold_reason;
    return `  ${at.toISOString()}  ${state}${why ? `, ${why}` : ""}`;
  });
}

/** @param alone it now has a nonce of its own. */
function placeInBatch(intent: Intent, alone: boolean): string {
  return alone || isUnassigned(intent) ? "goes alone: nothing came of the transaction of" : "in the transaction of";
}

async function memberLines(db: Kysely<Database>, lead: Intent): Promise<string[]> {
  const members = await db
    .selectFrom("service.intent")
    .select(["id", "state"])
    .where("batch_lead", "=", lead.id)
    .orderBy("seq")
    .execute();
  return members.map(({ id, state }) => `  batch      its transaction has ${id} too: ${state}`);
}
