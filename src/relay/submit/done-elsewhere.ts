import type { Hash } from "viem";
import type { Chain } from "../../chains.ts";
import { toBytes } from "../../db/bytes.ts";
import type { RelayContext } from "../chain/context.ts";
import { type EasyToken, readEasyToken } from "../chain/easy-token.ts";
import { findDeploymentLog, findOperationLog } from "../chain/find-done.ts";
import { agreeOnDone } from "../chain/intent-done.ts";
import { askNode } from "../chain/node-failure.ts";
import { isOperation } from "../chain/operation.ts";
import { agreeOnOutcome } from "../chain/quorum.ts";
import { verifyDeployment } from "../chain/verify-deployment.ts";
import { verifyOperation } from "../chain/verify-operation.ts";
import { readChainView } from "../chain/view.ts";
import { getIntent, type Intent, moveIntent } from "../store/intents.ts";
import { importEasyToken, withEasyToken } from "./import-easy-token.ts";

/** What another transaction than a request's own did of it, for good. */
export interface Elsewhere {
  hash: Hash;
  block: bigint;
  /** The token of an easy mint, where it is another one than its row has. */
  token: EasyToken | null;
  /** What is not as asked for; null: nothing. */
  fault: string | null;
}

/**
 * Looks for another transaction that has fulfilled a request for good: one of a lost row, a duplicate that came first, or one
 * of another holder of the role. Of what the operator carries out it is the event with the intent's name that decides:
 * nobody else can make the operator emit it. The factory puts exactly the request's configuration at its address for every
 * caller.
 *
 * @returns null while there is none, or none for good yet.
 * @throws ServiceError `service_unavailable` while too few endpoints answer.
 */
export async function findElsewhere(services: RelayContext, chain: Chain, intent: Intent): Promise<Elsewhere | null> {
  if (intent.kind === "update") return null;
  const found = await askNode(chain, () =>
    isOperation(intent.kind) ? findOperationLog(services, chain, intent) : findDeploymentLog(services, chain, intent),
  );
  if (!found) return null;
  const nodes = services.relay.nodes(chain);
  const { finalized } = await askNode(chain, () => readChainView(nodes, chain, []));
  if (found.block > finalized) return null;
  const outcome = { hash: found.hash, blockHash: found.blockHash, succeeded: true };
  if ((await agreeOnOutcome(nodes, chain.relay.quorum, outcome)) !== "agreed") return null;
  // Where several requests share a transaction, its success is not the request's.
  if (isOperation(intent.kind) && !(await agreeOnDone(services, chain, intent))) return null;
  const token = await readEasyToken(services, chain, intent, found.hash);
  const asked = token ? { ...intent, ...withEasyToken(intent, token) } : intent;
  const fault = await askNode(chain, () =>
    isOperation(asked.kind)
      ? verifyOperation(services, chain, asked, found.hash)
      : verifyDeployment(nodes, asked, found.block, found.hash),
  );
  return { hash: found.hash, block: found.block, token, fault };
}

/**
 * Ends a request as what was done elsewhere: as failed where something else stands there than was asked for, because nothing
 * can ever replace that.
 *
 * @param intent in any state that may be confirmed, or `held`.
 * @returns null when another process moved it.
 */
export async function endElsewhere(
  services: RelayContext,
  intent: Intent,
  { hash, block, token, fault }: Elsewhere,
): Promise<Intent | null> {
  const context = { intent: intent.id, state: intent.state, hash };
  if (fault) services.log.error({ ...context, fault }, "something else than what was asked for stands for good");
  else services.log.warn(context, "a request ends as what another transaction did");
  return await services.db.transaction().execute(async (db) => {
    const imported = token ? await importEasyToken(db, intent, token) : intent;
    const queued = imported?.state === "held" ? await moveIntent(db, imported, "queued") : imported;
    if (!queued) return null;
    if (fault) return await moveIntent(db, queued, "failed_onchain", "verification", fault);
    const place = { found_tx: toBytes(hash), found_block: block };
    const confirmed = await moveIntent(db, queued, "confirmed", null, null, place);
    // A duplicate's own block is final too: nothing is left to be followed.
    return confirmed && (await moveIntent(db, confirmed, "finalized"));
  });
}

/** Both at once. @returns the intent as it stands; null while nothing was done elsewhere. */
export async function endIfDoneElsewhere(services: RelayContext, chain: Chain, intent: Intent): Promise<Intent | null> {
  const elsewhere = await findElsewhere(services, chain, intent);
  if (!elsewhere) return null;
  return (await endElsewhere(services, intent, elsewhere)) ?? (await getIntent(services.db, intent.id));
}
