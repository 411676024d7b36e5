import type { Chain } from "../../chains.ts";
import { toHash } from "../../db/bytes.ts";
import { endedStates } from "../lifecycle.ts";
import type { Intent } from "../store/intents.ts";
import type { RelayContext } from "./context.ts";
import type { Receipt } from "./reads.ts";
import { readBlockHashes, readReceipts } from "./view.ts";

/** `unknown`: where the deployment stands is not known, now. */
export type UpdateEffect = "took" | "none" | "unknown";

/**
 * Whether an update that succeeded changed anything, or a call of the operator that was refused had a contract to act on. A call of an address without code succeeds too, and after a
 * reorganisation an update may be mined before the deployment of its collection, which another wallet sent: in an
 * earlier block, or further up in the same one. Decided by where the two stand, for nodes soon forget what the state
 * of a block was.
 *
 * @param receipt of the update, in a block that is on the chain.
 * @throws NodeFault when no endpoint gives a usable answer.
 */
export async function effectOfUpdate(
  services: RelayContext,
  chain: Chain,
  update: Intent,
  receipt: Receipt,
): Promise<UpdateEffect> {
  const deployment = await findDeployment(services, update);
  // It will never stand again; of what no request deployed, it was there before.
  if (!deployment || isOver(deployment.state)) return update.kind === "update" ? "none" : "took";
  const nodes = services.relay.nodes(chain);
  if (deployment.found_tx) {
    const { found_block: stood } = deployment;
    if (stood !== null && stood !== receipt.blockNumber) return stood < receipt.blockNumber ? "took" : "none";
    // Made by another transaction than its own, which was final when that was recorded.
    const made = (await readReceipts(nodes, [toHash(deployment.found_tx)])).get(toHash(deployment.found_tx));
    return made ? compare(made, receipt) : "unknown";
  }
  const { state, mined_block: block, mined_block_hash: hash, mined_attempt: transaction } = deployment;
  if (block === null || !hash || !transaction || !minedStates.includes(state)) return "unknown";
  // Its block may be gone, and nobody has recorded that yet.
  if (state !== "finalized" && (await readBlockHashes(nodes, [block], 1)).get(block) !== toHash(hash)) return "unknown";
  if (block !== receipt.blockNumber) return block < receipt.blockNumber ? "took" : "none";
  const own = (await readReceipts(nodes, [toHash(transaction)])).get(toHash(transaction));
  return own?.blockHash === receipt.blockHash ? compare(own, receipt) : "unknown";
}

function compare(deployment: Receipt, update: Receipt): UpdateEffect {
  const blocks = update.blockNumber - deployment.blockNumber;
  return (blocks || update.transactionIndex - deployment.transactionIndex) > 0n ? "took" : "none";
}

const minedStates: readonly Intent["state"][] = ["mined", "confirmed", "finalized"];

function isOver(state: Intent["state"]): boolean {
  return state !== "finalized" && (endedStates as readonly string[]).includes(state);
}

async function findDeployment(services: RelayContext, update: Intent) {
  return await services.db
    .selectFrom("service.intent as i")
    .leftJoin("service.nonce_reservation as s", "s.intent_id", "i.id")
    .select(["i.state", "s.mined_block", "s.mined_block_hash", "s.mined_attempt", "i.found_tx", "i.found_block"])
    .where("i.chain_id", "=", update.chain_id)
    .where("i.predicted_addr", "=", update.predicted_addr)
    .where("i.kind", "=", update.kind === "update" ? "deploy" : "contract")
    .orderBy("i.retry_number", "desc")
    .limit(1)
    .executeTakeFirst();
}
