import { type Transaction as DbTransaction, type Kysely, sql } from "kysely";
import { type Address, getCreate2Address, type Hex, parseTransaction } from "viem";
import { cloneInitCode } from "../../contracts/abi/clone-code.ts";
import type { PredictCollectionInput } from "../../contracts/abi/config.ts";
import type { Chain } from "../chains.ts";
import type { Database } from "../db/database.ts";
import type { Services } from "../services.ts";
import { signChecked } from "../signing/signer.ts";
import { fullLimit, keepLimits, type Reservation, readLimit, refusalOf, wantedLimits } from "./budget.ts";
import { toAddress, toHex } from "./bytes.ts";
import { calls, parseQuantity } from "./chain-reads.ts";
import { getIntent, moveIntent } from "./intents.ts";
import type { Node } from "./nodes.ts";
import type { Attempt, Slot } from "./slots.ts";

/** The classic mistake, for the chaos run: "nonce too low" is believed, and the call is sent at another nonce. */
export async function sendWithNewNonce(services: Services, chain: Chain, node: Node, attempt: Attempt): Promise<void> {
  const sender = toAddress(attempt.addr);
  const signer = services.relay.signers(chain).find(({ address }) => address === sender);
  const [count] = await node.ask([calls.count(sender, "pending")]);
  if (!signer) return;
  const { to, data, gas, maxFeePerGas, maxPriorityFeePerGas } = parseTransaction(toHex(attempt.raw) as Hex);
  const { raw } = await signChecked(signer, {
    kind: attempt.kind === "adopted" ? "deploy" : attempt.kind,
    transaction: {
      chainId: chain.id,
      nonce: Number(parseQuantity(count, "a count")),
      to: to ?? sender,
      data: data ?? "0x",
      value: 0n,
      gas: gas ?? 0n,
      maxFeePerGas: maxFeePerGas ?? 0n,
      maxPriorityFeePerGas: maxPriorityFeePerGas ?? 0n,
    },
  });
  await node.ask([calls.send(raw)]);
}

const takenForOurs = new Set<string>();

/** "Underpriced" read as "I have a better one of yours", for the chaos run: nothing is sent any more. */
export function takeForOurs(attempt: Attempt): void {
  takenForOurs.add(attempt.hash.toString("hex"));
}

export function isTakenForOurs(attempt: Attempt): boolean {
  return takenForOurs.size > 0 && takenForOurs.has(attempt.hash.toString("hex"));
}

/** Only the newest bytes are kept, for the chaos run: what the database forbids is switched off for it. */
export async function forgetAttempts(transaction: DbTransaction<Database>, slot: Slot): Promise<void> {
  await sql`SET LOCAL session_replication_role = replica`.execute(transaction);
  const own = sql`chain_id = ${slot.chain_id} AND addr = ${slot.addr} AND nonce = ${slot.nonce}`;
  await sql`DELETE FROM service.attempt_event WHERE attempt_hash IN (SELECT hash FROM service.attempt WHERE ${own})`.execute(
    transaction,
  );
  await sql`DELETE FROM service.attempt WHERE ${own}`.execute(transaction);
  await sql`SET LOCAL session_replication_role = origin`.execute(transaction);
}

/** A salt of the intent alone, for the chaos run: whoever sees the intent can take its address first. */
export function weakPlace({ factory, template, intentId, initData }: PredictCollectionInput): {
  salt: Hex;
  predicted: Address;
} {
  const bytecode = cloneInitCode(template, initData);
  const predicted = getCreate2Address({ from: factory, salt: intentId, bytecode });
  return { salt: intentId, predicted: predicted.toLowerCase() as Address };
}

/** The cost is set aside when the request is on disk already, for the chaos run: one that is refused is there too. */
export async function reserveAfterwards(
  db: Kysely<Database>,
  intentId: string,
  reservation: Reservation,
): Promise<void> {
  const asked = sql`
    WITH ${wantedLimits(reservation)}, accepted AS (SELECT ${intentId}::uuid AS id), ${keepLimits(sql`accepted`)}
    SELECT service.require_limits((SELECT count(*) FROM wanted), (SELECT array_agg(scope) FROM kept))`;
  await asked.execute(db).catch(async (error: unknown) => {
    const full = fullLimit(reservation.limits, error);
    throw full ? refusalOf(await readLimit(db, full)) : error;
  });
}

const tries = new Map<string, number>();

/** Patience instead of evidence, for the chaos run: what was sent three times has failed. */
export async function failAfterTries(services: Services, intentId: string): Promise<void> {
  const count = (tries.get(intentId) ?? 0) + 1;
  tries.set(intentId, count);
  if (count < 3) return;
  const current = await getIntent(services.db, intentId);
  const failed = current.state === "in_flight" ? await moveIntent(services.db, current, "mined_reverted") : null;
  if (failed) await moveIntent(services.db, failed, "failed_onchain");
}
