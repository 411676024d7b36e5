import type { Transaction } from "kysely";
import { sql } from "kysely";
import type { Hash } from "viem";
import type { Chain } from "../chains.ts";
import type { Database } from "../db/database.ts";
import type { Services } from "../services.ts";
import { toBytes } from "./bytes.ts";
import { crashPoint, hasDefect } from "./faults.ts";
import type { Fees } from "./fees.ts";
import { type Intent, moveIntent } from "./intents.ts";
import { lockLane, tooLittle } from "./lanes.ts";
import type { Preflight } from "./preflight.ts";
import type { Slot } from "./slots.ts";
import { waitForTurn } from "./update-order.ts";

export type Assignment =
  | { kind: "assigned"; intent: Intent; slot: Slot }
  /** Another process moved the intent. */
  | { kind: "lost" }
  /** The lane is full; the intent stays queued. */
  | { kind: "wait"; reason: string }
  /** Something has to change first; the intent is held. */
  | { kind: "hold"; reason: "balance" | "lane"; message: string };

/**
 * Binds an intent to the next nonce of the paying wallet, for ever, in one transaction that holds the
 * lane's row. The intent must be queued.
 */
export async function assignSlot(
  services: Services,
  chain: Chain,
  intent: Intent,
  ready: Preflight & { fees: Fees },
  genesisHash: Hash,
): Promise<Assignment> {
  const assignment = await services.db.transaction().execute(async (transaction): Promise<Assignment> => {
    const addr = toBytes(ready.sender);
    const place = { chain_id: intent.chain_id, addr };
    const lane = await lockLane(transaction, intent.chain_id, addr, ready.chainNonce, genesisHash);
    const setLane = (change: { next_nonce: bigint } | { state: "paused_funds"; needed_wei: bigint }) =>
      transaction
        .updateTable("service.lane")
        .set(change)
        .where("chain_id", "=", intent.chain_id)
        .where("addr", "=", addr)
        .execute();
    if (!lane.genesis_hash.equals(toBytes(genesisHash))) {
      return hold("lane", "the node serves another chain than the one this wallet's transactions went to");
    }
    if (lane.state === "paused_funds") return hold("balance", tooLittle);
    if (lane.state !== "open") return hold("lane", `the wallet's lane is ${lane.state}`);
    // Only we give out nonces. The count was read before the lock, so of ours it cannot be ahead.
    if (ready.chainNonce > lane.next_nonce) {
      return hold("lane", "the wallet sent transactions that are not ours; an operator has to look");
    }
    const open = await openSlots(transaction, intent.chain_id, addr);
    if (open.count >= chain.relay.maxPending)
      return { kind: "wait", reason: `${open.count} deployments are being mined` };
    const turn = await waitForTurn(transaction, intent, ready.call.basis);
    if (turn) return { kind: "wait", reason: turn };
    const worstCase = ready.gas * ready.fees.maxFeePerGas;
    if (ready.balanceWei - open.reservedWei < worstCase) {
      await setLane({ state: "paused_funds", needed_wei: worstCase });
      services.log.error({ chain: intent.chain_id, wallet: ready.sender, needed: worstCase }, "a wallet needs funds");
      return hold("balance", tooLittle);
    }
    const assigned = await moveIntent(transaction, intent, "assigned");
    if (!assigned) return { kind: "lost" };
    const nonce = hasDefect("nonce-from-node") ? ready.pendingNonce : lane.next_nonce;
    const slot = await transaction
      .insertInto("service.slot")
      .values({ ...place, nonce, intent_id: intent.id, kind: intent.kind })
      .returningAll()
      .executeTakeFirstOrThrow();
    await setLane({ next_nonce: nonce >= lane.next_nonce ? nonce + 1n : lane.next_nonce });
    crashPoint("assign-before-commit");
    return { kind: "assigned", intent: assigned, slot };
  });
  if (assignment.kind === "assigned") crashPoint("assign-after-commit");
  return assignment;
}

function hold(reason: "balance" | "lane", message: string): Assignment {
  return { kind: "hold", reason, message };
}

/** What is under way and could at worst still be spent. */
async function openSlots(transaction: Transaction<Database>, chainId: number, addr: Buffer) {
  const worstOfSlot = transaction
    .selectFrom("service.slot as s")
    .leftJoin("service.attempt as a", (join) =>
      join.onRef("a.chain_id", "=", "s.chain_id").onRef("a.addr", "=", "s.addr").onRef("a.nonce", "=", "s.nonce"),
    )
    .where("s.chain_id", "=", chainId)
    .where("s.addr", "=", addr)
    .where("s.state", "=", "open")
    .groupBy("s.nonce")
    .select(sql<string>`coalesce(max(a.max_fee * a.gas), 0)`.as("worst"));
  const row = await transaction
    .selectFrom(worstOfSlot.as("w"))
    .select([sql<bigint>`count(*)`.as("count"), sql<string>`coalesce(sum(worst), 0)`.as("reserved")])
    .executeTakeFirstOrThrow();
  return { count: Number(row.count), reservedWei: BigInt(row.reserved) };
}
