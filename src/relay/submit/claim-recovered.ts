import { sql } from "kysely";
import { type Address, parseTransaction } from "viem";
import type { Chain } from "../../chains.ts";
import { toAddress, toBytes, toHex } from "../../db/bytes.ts";
import { leadsBatch } from "../chain/batch-call.ts";
import type { RelayContext } from "../chain/context.ts";
import { easyTokenOf } from "../chain/easy-token.ts";
import { callKind, intentName, replacesRecord } from "../chain/operation.ts";
import { isCallOf } from "../chain/own-content.ts";
import { type Intent, moveIntent } from "../store/intents.ts";
import type { WalletChoice } from "./choose-wallet.ts";
import type { Step } from "./hold-intent.ts";
import { importEasyToken } from "./import-easy-token.ts";
import { reserveFound } from "./raise-reservation.ts";

/**
 * What becomes of a request by transactions under way whose rows were lost: it is one of them, or it waits for one that may
 * have its effect.
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
 * Gives a request the nonce at which its own transaction was found in a mempool: its rows were lost, and its client
 * asked again before the transaction was mined. What its bytes may cost is set aside with it.
 *
 * @returns the intent, `signed`; null when nothing of it was found, or another process moved it.
 */
async function claimRecovered(services: RelayContext, chain: Chain, intent: Intent): Promise<Intent | null> {
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
    const more = own.batch ? { batch_call: own.batch } : {};
    const signed = imported && (await moveIntent(db, imported, "signed", null, null, more));
    if (!signed) return null;
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
    const reserved = await reserveFound(services, db, chain, signed, BigInt(worst));
    if (!reserved) throw new Error(`intent ${intent.id} was moved while its row was locked`);
    services.log.warn({ intent: intent.id, nonce: own.nonce }, "a request is the transaction that was found of it");
    return reserved;
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
