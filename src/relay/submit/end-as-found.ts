import type { Chain } from "../../chains.ts";
import { toBytes } from "../../db/bytes.ts";
import type { RelayContext } from "../chain/context.ts";
import { readEasyToken } from "../chain/easy-token.ts";
import { findDeploymentLog } from "../chain/find-deployment-log.ts";
import { findOperationLog } from "../chain/find-operation-log.ts";
import { agreeOnDone } from "../chain/intent-done.ts";
import { askNode } from "../chain/node-failure.ts";
import { isOperation } from "../chain/operation.ts";
import { agreeOnOutcome } from "../chain/quorum.ts";
import { verifyDeployment } from "../chain/verify-deployment.ts";
import { verifyOperation } from "../chain/verify-operation.ts";
import { readChainView } from "../chain/view.ts";
import { getIntent, type Intent, moveIntent } from "../store/intents.ts";
import { importEasyToken } from "./import-easy-token.ts";

/**
 * Ends a request that another transaction has fulfilled for good. Of what the operator carries out it is the event with
 * the intent's name that decides: nobody else can make the operator emit it.
 *
 * Of a deployment, this is one whose collection stands for good by another transaction than the intent's own nonce has: one of a
 * lost row, a duplicate that came first, or one of another holder of the factory's role. The factory puts exactly this
 * configuration at the address, whoever calls it, so what stands is what was asked for: the intent ends as that
 * collection. If something else stands there it ends as failed, because nothing can ever replace that.
 *
 * @returns the intent as it ended; null while nothing stands there, or not for good yet.
 */
export async function endAsFound(services: RelayContext, chain: Chain, seen: Intent): Promise<Intent | null> {
  let intent = seen;
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
  // In a batch the transaction's success is not the request's.
  if (isOperation(intent.kind) && !(await agreeOnDone(services, chain, intent))) return null;
  const token = await readEasyToken(services, chain, intent, found.hash);
  const imported = token ? await importEasyToken(services.db, intent, token) : intent;
  if (!imported) return await getIntent(services.db, intent.id);
  intent = imported;
  const problem = await askNode(chain, () =>
    isOperation(intent.kind)
      ? verifyOperation(services, chain, intent, found.hash)
      : verifyDeployment(nodes, intent, found.block, found.hash),
  );
  const context = { intent: intent.id, state: intent.state, hash: found.hash };
  if (problem) services.log.error({ ...context, problem }, "something else than what was asked for stands for good");
  else services.log.warn(context, "a request ends as what another transaction did");
  return await services.db.transaction().execute(async (db) => {
    const queued = intent.state === "held" ? await moveIntent(db, intent, "queued") : intent;
    if (!queued) return await getIntent(db, intent.id);
    if (problem) return await moveIntent(db, queued, "failed_onchain", "verification", problem);
    const confirmed = await moveIntent(db, queued, "confirmed", null, null, {
      found_tx: toBytes(found.hash),
      found_block: found.block,
    });
    // A duplicate's own block is final too: nothing is left to be followed.
    return confirmed && (await moveIntent(db, confirmed, "finalized"));
  });
}
