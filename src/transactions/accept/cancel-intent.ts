import { sql } from "kysely";
import { ServiceError } from "../../errors/errors.ts";
import { askNode } from "../../rpc/nodes.ts";
import type { RelayContext } from "../chain/context.ts";
import { isIntentDone } from "../chain/done-elsewhere.ts";
import { openStates } from "../lifecycle.ts";
import { getIntent, type Intent, isUnassigned, moveIntent } from "../store/intents.ts";
import { isInLaterUpdate } from "../store/turns.ts";

const cancellable: readonly Intent["state"][] = openStates;

/**
 * Cancels a tenant's intent. Without a nonce it is `cancelled` at once. With one, the nonce has to be consumed: the
 * worker signs an empty transaction at the same nonce, and the chain decides which of the two is mined; until then the
 * intent keeps its state.
 *
 * @returns the intent's row; check its state, and `cancel_requested_at`.
 * @throws ServiceError `not_found`; `value_error` when it is mined or has ended already, or when a later update, whose
 *   record includes this one's changes, is signed.
 */
export async function cancelIntent(services: RelayContext, tenantId: string, id: string): Promise<Intent> {
  for (let tries = 0; tries < 20; tries += 1) {
    const intent = await getIntent(services.db, id).catch(() => null);
    if (!intent || intent.tenant_id !== tenantId) throw new ServiceError("not_found", "no such request");
    if (intent.state === "cancelled") return intent;
    if (intent.cancel_requested_at && cancellable.includes(intent.state)) return intent;
    if (isUnassigned(intent)) await requireUndone(services, intent);
    const changed = isUnassigned(intent)
      ? await moveIntent(services.db, intent, "cancelled")
      : await requestCancellation(services, intent);
    if (changed) return changed;
  }
  throw new ServiceError("service_unavailable", "other processes are working on it", { retryAfterSeconds: 1 });
}

/** After rows were lost, a request without a nonce may already be done on the chain. */
async function requireUndone(services: RelayContext, intent: Intent): Promise<void> {
  const chain = services.chains.find(({ id }) => id === intent.chain_id);
  if (chain && (await askNode(chain, () => isIntentDone(services, chain, intent))))
    throw new ServiceError("value_error", "another transaction has done it already; it cannot be cancelled any more");
}

async function requestCancellation(services: RelayContext, intent: Intent): Promise<Intent | undefined> {
  if (intent.state === "batched")
    throw new ServiceError("value_error", "it is in one transaction with other mints and cannot be cancelled any more");
  if (!cancellable.includes(intent.state))
    throw new ServiceError("value_error", `it is ${intent.state} already and cannot be cancelled any more`);
  if (await isInLaterUpdate(services.db, intent))
    throw new ServiceError("value_error", "a later update of this contract contains its changes; send another update");
  return await services.db
    .updateTable("service.intent")
    .set({ cancel_requested_at: sql<Date>`clock_timestamp()`, version: intent.version + 1 })
    .where("id", "=", intent.id)
    .where("version", "=", intent.version)
    .returningAll()
    .executeTakeFirst();
}
