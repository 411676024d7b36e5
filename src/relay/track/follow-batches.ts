import { sql } from "kysely";
import type { Hash } from "viem";
import type { Chain } from "../../chains.ts";
import { toBytes, toHash } from "../../db/bytes.ts";
import { refusalInBatch } from "../chain/batch-call.ts";
import type { RelayContext } from "../chain/context.ts";
import { agreeOnDone, isIntentDone } from "../chain/intent-done.ts";
import { announcesOperation } from "../chain/operation.ts";
import { agreeOnOutcome } from "../chain/quorum.ts";
import type { Receipt } from "../chain/reads.ts";
import { effectOfUpdate } from "../chain/update-effect.ts";
import { findFault } from "../chain/verify-operation.ts";
import { type ChainView, depthOf, readBlockHashes, readReceipts } from "../chain/view.ts";
import { getIntent, type Intent, moveIntent } from "../store/intents.ts";
import { endedStates } from "../store/lifecycle.ts";
import { endAsFound } from "../submit/end-as-found.ts";
import { attend, inParallel, type RelayMemory } from "./loop-steps.ts";
import { refreshWallets } from "./watch-wallets.ts";

/** Members of one look. */
const page = 500;

/** A member of a batch, and the block that its lead's transaction is in; null: it is in none, and never will be. */
interface Member {
  intent: Intent;
  lead: string;
  mined: { hash: Hash; number: bigint; blockHash: Hash } | null;
}

/**
 * One look at the members of batches: each is confirmed or ends by what the operator logged of it in its lead's
 * transaction, whatever became of the lead itself and of the others. Where that transaction came to nothing a member is
 * queued again, and goes alone. Any number of workers may do this at once.
 *
 * @throws whatever keeps the whole look from being done: the node or the database is away.
 */
export async function followBatches(
  services: RelayContext,
  chain: Chain,
  memory: RelayMemory,
  signal?: AbortSignal,
): Promise<void> {
  const members = await listMembers(services, chain, memory);
  if (members.length === 0) return;
  const view = await refreshWallets(services, chain, memory);
  const nodes = services.relay.nodes(chain);
  const due = members.filter(({ mined }) => mined === null || mined.number <= view.head);
  const mined = due.flatMap((member) => member.mined ?? []);
  const numbers = mined.map(({ number }) => number);
  const blocks = await readBlockHashes(nodes, numbers, chain.relay.quorum);
  const receipts = await readReceipts(nodes, [...new Set(mined.map(({ hash }) => hash))]);
  const look = (member: Member) =>
    attend(services, member.intent, async () => {
      if (!member.mined) return await release(services, chain, member.intent);
      const { hash, number, blockHash } = member.mined;
      const receipt = receipts.get(hash);
      // Another block: that is for whoever follows the lead to find.
      if (blocks.get(number) !== blockHash || receipt?.blockHash !== blockHash) return;
      await moveByReceipt(services, chain, member, receipt, view);
    });
  await inParallel(due, look, signal);
}

/** The next page, from round to round: those that wait for finality must not hide the others. */
async function listMembers(services: RelayContext, chain: Chain, memory: RelayMemory): Promise<Member[]> {
  const rows = await services.db
    .selectFrom("service.intent as i")
    .innerJoin("service.intent as l", "l.id", "i.batch_lead")
    .leftJoin("service.nonce_reservation as s", (join) =>
      join.onRef("s.intent_id", "=", "l.id").on("s.state", "=", "mined"),
    )
    .selectAll("i")
    .select(["s.mined_attempt", "s.mined_block", "s.mined_block_hash"])
    .where("i.chain_id", "=", chain.id)
    .where(sql<boolean>`i.state = 'batched'`)
    .where("i.seq", ">", memory.batched)
    .where(({ or, eb }) => or([eb("s.state", "is not", null), eb("l.state", "in", [...endedStates])]))
    .orderBy("i.seq")
    .limit(page)
    .execute();
  const last = rows.length < page ? undefined : rows.at(-1);
  memory.batched = last ? last.seq : -1n;
  return rows.map(({ mined_attempt, mined_block, mined_block_hash, ...intent }) => ({
    ...{ intent, lead: intent.batch_lead ?? "" },
    mined:
      mined_attempt && mined_block !== null && mined_block_hash
        ? { hash: toHash(mined_attempt), number: mined_block, blockHash: toHash(mined_block_hash) }
        : null,
  }));
}

async function moveByReceipt(
  services: RelayContext,
  chain: Chain,
  { intent, lead }: Member,
  receipt: Receipt,
  view: ChainView,
): Promise<void> {
  const { transactionHash: hash, blockNumber: number, blockHash, status } = receipt;
  const done = announcesOperation(receipt, intent);
  // As of any other request: shown once enough blocks stand on its own, failed only once it is final.
  if (done ? depthOf(view, number) < BigInt(chain.confirmations) : number > view.finalized) return;
  const outcome = { hash, blockHash, succeeded: status === 1n };
  if ((await agreeOnOutcome(services.relay.nodes(chain), chain.relay.quorum, outcome)) !== "agreed") return;
  const place = { found_tx: toBytes(hash), found_block: number };
  if (done) {
    if (!(await agreeOnDone(services, chain, intent))) return;
    const problem = await findFault(services, chain, intent, receipt);
    if (problem === null) return await confirm(services, chain, { intent, lead, blockHash }, place);
    services.log.error({ intent: intent.id, hash, problem }, "what is on the chain is not what was asked for");
    if (intent.hold_reason !== "verification")
      await moveIntent(services.db, intent, "batched", "verification", problem);
    return;
  }
  if (await isIntentDone(services, chain, intent)) {
    await endAsFound(services, chain, intent);
    return;
  }
  const refusal = refusalInBatch(receipt, intent);
  // The whole transaction failed, or did nothing; or the call had too little gas in it.
  if (!refusal) return await release(services, chain, intent);
  const effect = await effectOfUpdate(services, chain, intent, receipt);
  if (effect === "none") return await release(services, chain, intent);
  if (effect === "took") await moveIntent(services.db, intent, "failed_onchain", "refused", refusal, place);
}

/** @param of its lead's reservation is locked: nobody takes the block back meanwhile (`markUnmined`). */
async function confirm(
  services: RelayContext,
  chain: Chain,
  { intent, lead, blockHash }: { intent: Intent; lead: string; blockHash: Hash },
  place: { found_tx: Buffer; found_block: bigint },
): Promise<void> {
  const confirmed = await services.db.transaction().execute(async (db) => {
    const { rows } = await sql`
      SELECT FROM service.nonce_reservation WHERE intent_id = ${lead}::uuid AND state = 'mined'
        AND mined_attempt = ${place.found_tx} AND mined_block_hash = ${toBytes(blockHash)} FOR SHARE`.execute(db);
    const moved = rows.length === 0 ? null : await moveIntent(db, intent, "confirmed", null, null, place);
    if (!moved) return null;
    // A statement of its own, which sees what was committed before the reservation was locked: a lead that has ended since
    // has looked for confirmed members already.
    const { state } = await getIntent(db, lead);
    return (endedStates as readonly string[]).includes(state) ? await moveIntent(db, moved, "finalized") : moved;
  });
  if (confirmed) services.relay.figures.recordStage(chain, intent.state, confirmed);
}

/** It waits for a nonce again; it has time for that, however long its batch took. */
async function release(services: RelayContext, chain: Chain, intent: Intent): Promise<void> {
  if (await isIntentDone(services, chain, intent)) {
    await endAsFound(services, chain, intent);
    return;
  }
  services.log.warn(
    { intent: intent.id, lead: intent.batch_lead },
    "a batch came to nothing; a mint of it goes on alone",
  );
  const expires = sql<Date>`greatest(expires_at, clock_timestamp() + interval '1 hour')`;
  await moveIntent(services.db, intent, "queued", null, null, { expires_at: expires });
}
