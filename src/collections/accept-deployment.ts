import { createHash } from "node:crypto";
import { collectionSalt, predictCollection } from "../../contracts/abi/config.ts";
import type { Caller } from "../auth/caller.ts";
import { planOf } from "../auth/plans.ts";
import { ServiceError } from "../errors/errors.ts";
import { refreshFees } from "../relay/chain/current-fees.ts";
import { intentName } from "../relay/chain/encode-deploy.ts";
import { acceptIntent, findKey, type IntentKey, isAccepted, type NewIntent } from "../relay/requests/accept-intent.ts";
import type { Intent } from "../relay/store/intents.ts";
import { planGasReservation } from "../relay/submit/budget.ts";
import { countGas } from "../relay/submit/gas-ceiling.ts";
import type { Services } from "../services.ts";
import { keepTree } from "./allowlists.ts";
import type { CheckedDeployment } from "./check-deployment.ts";
import { checkTreasury } from "./check-treasury.ts";
import { lowerCase } from "./collection-config.ts";

/**
 * The first stage: the request is on disk, with the one address it can end at; nothing was signed.
 *
 * @returns the deployment that was accepted before, for a request that comes again.
 * @throws ServiceError `storage_full` for a new presale list; what `checkTreasury` and `acceptIntent` throw.
 */
export async function acceptDeployment(
  services: Services,
  caller: Caller,
  key: string | null,
  checked: CheckedDeployment,
): Promise<Intent> {
  for (let pass = 0; ; pass += 1) {
    const [{ repeats, key: found }] = await Promise.all([
      findKey(services.db, caller.accountId, key, hashRequest(checked)),
      refreshFees(services, checked.chain),
    ]);
    if (repeats) return repeats;
    if (checked.allowlist.entries.length > 0) await requireRoom(services, caller, found);
    await checkTreasury(services, checked.chain, checked.payload.treasuryAddress);
    try {
      const intent = await acceptIntent(services.db, await draftIntent(services, caller, checked, found));
      // After the statement that everybody waits for, and nobody waits for this.
      void keepTree(services, intent.allowlist_id, checked.allowlist.stored);
      return intent;
    } catch (error) {
      // The same key at the same moment made the row, and the id, in between: now it is found by its key.
      if (pass > 2 || (error as { code?: unknown }).code !== "23505") throw error;
    }
  }
}

/** Room for a presale list, unless the request comes again under its key: its list is kept already. */
async function requireRoom(services: Services, caller: Caller, key: IntentKey): Promise<void> {
  try {
    await services.disk.requireRoom(caller.tier === "free");
  } catch (error) {
    // Asked only now: acceptance is one statement, and nearly always there is room.
    if (!(await isAccepted(services.db, caller.accountId, key))) throw error;
  }
}

/** What will be accepted: the transaction's data and its address follow from id, factory and request. */
export async function draftIntent(
  services: Services,
  caller: Caller,
  checked: CheckedDeployment,
  key: IntentKey,
): Promise<NewIntent> {
  const { chain, payload, initData, allowlist } = checked;
  const id = idOfKey(caller, key);
  const { address: factory, template } = await services.relay.factory(chain);
  const owner = lowerCase(payload.ownerAddress);
  const intentId = intentName(id);
  const salt = collectionSalt(intentId, owner, initData);
  const target = { factory, template, intentId, owner, initData, salt };
  return {
    id,
    tenantId: caller.accountId,
    key,
    requestHash: hashRequest(checked),
    chainId: chain.id,
    kind: "deploy",
    payload,
    allowlist,
    factory,
    template,
    owner,
    initData,
    salt,
    predicted: predictCollection(target),
    gas: countGas(planOf(caller), { kind: "deploy", bytes: usedBytes(initData), estimate: null }),
    reservation: planGasReservation(services, chain, {
      tenantId: caller.accountId,
      tier: caller.tier,
      kind: "deploy",
      bytes: usedBytes(initData),
    }),
  };
}

/**
 * The id of the deployment that an account asks for under a key, and with it the collection's address:
 * both are known before anything is stored, so a dry run can name them.
 */
export function idOfKey(caller: Caller, { stored }: IntentKey): string {
  const hex = createHash("sha256")
    .update(`deployment ${caller.accountId} ${stored.replace(/^client:/, "")}`)
    .digest("hex");
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
  // A UUID of version 8: its bits are the hash's.
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Those that are not zero: the rest is packed away. */
function usedBytes(data: string): number {
  let used = 0;
  for (let at = 2; at < data.length; at += 2) if (data[at] !== "0" || data[at + 1] !== "0") used += 1;
  return used;
}

export function checkKey(key: string | undefined): string | null {
  if (key === undefined) return null;
  if (/^[\x21-\x7e]{1,200}$/.test(key)) return key;
  throw new ServiceError("value_error", "an Idempotency-Key is 1 to 200 visible ASCII characters", {
    field: "idempotencyKey",
  });
}

/** What makes two requests of an account the same one. */
export function hashRequest({ chain, initData }: Pick<CheckedDeployment, "chain" | "initData">): Buffer {
  return createHash("sha256").update(`deploy ${chain.id} ${initData}`).digest();
}
