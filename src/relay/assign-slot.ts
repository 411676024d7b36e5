import type { Kysely, Transaction } from "kysely";
import { sql } from "kysely";
import type { Address, Hash } from "viem";
import type { Chain } from "../chains.ts";
import type { Database } from "../db/database.ts";
import type { Services } from "../services.ts";
import { toBytes } from "./bytes.ts";
import { type Intent, moveIntent } from "./intents.ts";
import type { Preflight } from "./preflight.ts";
import { waitForTurn } from "./update-order.ts";

/** More pending transactions of one wallet than this, and nodes begin to drop them. */
const maxOpenSlots = 16;

export type Assignment =
  | { kind: "assigned"; intent: Intent }
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
  intent: Intent,
  sender: Address,
  ready: Preflight,
  genesisHash: Hash,
): Promise<Assignment> {
  return await services.db.transaction().execute(async (transaction): Promise<Assignment> => {
    const addr = toBytes(sender);
    const lane = await lockLane(transaction, intent.chain_id, addr, ready.chainNonce, genesisHash);
    if (!lane.genesis_hash.equals(toBytes(genesisHash))) {
      return hold("lane", "the node serves another chain than the one this wallet's transactions went to");
    }
    if (lane.state !== "open") return hold("lane", `the wallet's lane is ${lane.state}`);
    // Only we give out nonces. The count was read before the lock, so of ours it cannot be ahead.
    if (ready.chainNonce > lane.next_nonce) {
      return hold("lane", "the wallet sent transactions that are not ours; an operator has to look");
    }
    const open = await openSlots(transaction, intent.chain_id, addr);
    if (open.count >= maxOpenSlots) return { kind: "wait", reason: `${open.count} deployments are being mined` };
    const turn = await waitForTurn(transaction, intent, ready.call.readAt);
    if (turn) return { kind: "wait", reason: turn };
    const worstCase = ready.gas * ready.fees.maxFeePerGas;
    if (ready.balanceWei - open.reservedWei < worstCase) {
      return hold("balance", "the wallet that pays deployments has too little; the operator has to fund it");
    }
    const assigned = await moveIntent(transaction, intent, "assigned");
    if (!assigned) return { kind: "lost" };
    await transaction
      .insertInto("service.slot")
      .values({
        chain_id: intent.chain_id,
        addr,
        nonce: lane.next_nonce,
        intent_id: intent.id,
        kind: intent.kind,
      })
      .execute();
    await transaction
      .updateTable("service.lane")
      .set({ next_nonce: lane.next_nonce + 1n })
      .where("chain_id", "=", intent.chain_id)
      .where("addr", "=", addr)
      .execute();
    return { kind: "assigned", intent: assigned };
  });
}

function hold(reason: "balance" | "lane", message: string): Assignment {
  return { kind: "hold", reason, message };
}

/** A cheap look without a lock, before the node is asked for anything; `assignSlot` decides. */
export async function isLaneFull(db: Kysely<Database>, chain: Chain, sender: Address): Promise<boolean> {
  const { count } = await db
    .selectFrom("service.slot")
    .select(sql<bigint>`count(*)`.as("count"))
    .where("chain_id", "=", chain.id)
    .where("addr", "=", toBytes(sender))
    .where("state", "=", "open")
    .executeTakeFirstOrThrow();
  return count >= maxOpenSlots;
}

/** The lane's row, locked; its counter starts where the chain's own count stands when it is first made. */
export async function lockLane(
  transaction: Transaction<Database>,
  chainId: number,
  addr: Buffer,
  firstNonce: bigint,
  genesisHash: Hash,
) {
  await transaction
    .insertInto("service.lane")
    .values({ chain_id: chainId, addr, genesis_hash: toBytes(genesisHash), next_nonce: firstNonce })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return await transaction
    .selectFrom("service.lane")
    .selectAll()
    .where("chain_id", "=", chainId)
    .where("addr", "=", addr)
    .forUpdate()
    .executeTakeFirstOrThrow();
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
