import { type Hex, keccak256 } from "viem";
import type { Chain } from "../chains.ts";
import type { Services } from "../services.ts";
import { toAddress, toBytes } from "./bytes.ts";
import { type Intent, moveIntent } from "./intents.ts";
import type { Preflight } from "./preflight.ts";

/**
 * Signs the transaction of an assigned intent and commits the bytes; nothing is sent here, and nothing
 * may be sent before this has returned.
 *
 * @returns the signed intent; null when another process signed it first (its bytes count, these are dropped).
 */
export async function signAttempt(
  services: Services,
  chain: Chain,
  intent: Intent,
  { fees, gas, call, headBlock }: Pick<Preflight, "fees" | "gas" | "call" | "headBlock">,
): Promise<Intent | null> {
  const account = services.relay.account(chain);
  const slot = await services.db
    .selectFrom("service.slot")
    .selectAll()
    .where("intent_id", "=", intent.id)
    .executeTakeFirstOrThrow();
  if (toAddress(slot.addr) !== account.address.toLowerCase()) {
    throw new Error(`intent ${intent.id} has a nonce of wallet ${toAddress(slot.addr)}, whose key is not configured`);
  }
  const raw: Hex = await account.signTransaction({
    type: "eip1559",
    chainId: chain.id,
    nonce: Number(slot.nonce),
    to: call.to,
    data: call.data,
    value: 0n,
    gas,
    ...fees,
  });
  return await services.db.transaction().execute(async (transaction) => {
    const signed = await moveIntent(transaction, intent, "signed");
    if (!signed) return null;
    await transaction
      .insertInto("service.attempt")
      .values({
        hash: toBytes(keccak256(raw)),
        chain_id: slot.chain_id,
        addr: slot.addr,
        nonce: slot.nonce,
        kind: slot.kind,
        raw: toBytes(raw),
        max_fee: fees.maxFeePerGas,
        tip: fees.maxPriorityFeePerGas,
        gas,
        head_block: headBlock,
      })
      .execute();
    return signed;
  });
}
