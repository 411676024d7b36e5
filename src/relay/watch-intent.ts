import { type Hash, type PublicClient, type TransactionReceipt, TransactionReceiptNotFoundError } from "viem";
import type { Chain } from "../chains.ts";
import type { Services } from "../services.ts";
import { toHash } from "./bytes.ts";
import { type Intent, moveIntent } from "./intents.ts";
import { depthOf, type Head } from "./read-head.ts";
import { costOf, findSlot, listAttempts, markMined, markUnmined } from "./slots.ts";
import { announcesCollection, verifyDeployment } from "./verify-deployment.ts";

/**
 * Looks at one intent that has bytes on their way or in a block, and moves it by what the chain shows.
 *
 * @returns the intent as it stands afterwards; null when another process moved it meanwhile.
 */
export async function watchIntent(
  services: Services,
  chain: Chain,
  intent: Intent,
  head: Head,
): Promise<Intent | null> {
  switch (intent.state) {
    case "signed":
    case "in_flight":
      return await lookForReceipt(services, chain, intent);
    case "mined":
    case "mined_reverted":
    case "mined_noop":
    case "confirmed":
      return await followBlock(services, chain, intent, head);
    default:
      return intent;
  }
}

async function lookForReceipt(services: Services, chain: Chain, intent: Intent): Promise<Intent | null> {
  const client = services.rpc(chain);
  for (const attempt of await listAttempts(services.db, intent.id)) {
    const hash = toHash(attempt.hash);
    const receipt = await findReceipt(client, hash);
    if (!receipt || !(await isCanonical(client, receipt.blockNumber, receipt.blockHash))) continue;
    const block = { number: receipt.blockNumber, hash: receipt.blockHash };
    const to = attempt.kind === "noop" ? "mined_noop" : receipt.status === "success" ? "mined" : "mined_reverted";
    if (to === "mined" && intent.kind === "deploy" && !announcesCollection(receipt, intent)) {
      services.log.error({ intent: intent.id, hash }, "a deployment succeeded without its collection");
      continue;
    }
    services.log.info({ intent: intent.id, hash, block: block.number, outcome: to }, "deployment mined");
    return await services.db
      .transaction()
      .execute((transaction) => markMined(transaction, intent, to, hash, block, costOf(receipt)));
  }
  return intent;
}

async function followBlock(services: Services, chain: Chain, intent: Intent, head: Head): Promise<Intent | null> {
  const client = services.rpc(chain);
  const slot = await findSlot(services.db, intent.id);
  if (!slot?.mined_block_hash || slot.mined_block === null) throw new Error(`intent ${intent.id} is mined nowhere`);
  const number = slot.mined_block;
  // A head behind the block is a lagging node, not a reorganisation.
  if (number > head.number) return intent;
  if (!(await isCanonical(client, number, toHash(slot.mined_block_hash)))) {
    services.log.warn({ intent: intent.id, block: number, state: intent.state }, "the block of a deployment is gone");
    return await services.db.transaction().execute((transaction) => markUnmined(transaction, intent));
  }
  const final = number <= head.finalized;
  switch (intent.state) {
    case "mined":
      if (depthOf(head, number) < BigInt(chain.confirmations)) return intent;
      return await confirm(services, chain, intent, number);
    case "confirmed":
      return final ? await moveIntent(services.db, intent, "finalized") : intent;
    case "mined_reverted":
      return final ? await moveIntent(services.db, intent, "failed_onchain") : intent;
    case "mined_noop":
      return final ? await moveIntent(services.db, intent, "cancelled") : intent;
    default:
      return intent;
  }
}

async function confirm(services: Services, chain: Chain, intent: Intent, number: bigint): Promise<Intent | null> {
  // An update's bytes were ours and succeeded; what others changed in the same block is not our affair.
  const problem = intent.kind === "deploy" ? await verifyDeployment(services.rpc(chain), intent, number) : null;
  if (problem === null) {
    services.log.info({ intent: intent.id, block: number }, "deployment confirmed");
    return await moveIntent(services.db, intent, "confirmed");
  }
  services.log.error({ intent: intent.id, problem }, "a deployment is not what was asked for; it stays unconfirmed");
  return intent.hold_reason === "verification"
    ? intent
    : await moveIntent(services.db, intent, "mined", "verification");
}

async function findReceipt(client: PublicClient, hash: Hash): Promise<TransactionReceipt | null> {
  try {
    const receipt = await client.getTransactionReceipt({ hash });
    return receipt.transactionHash === hash ? receipt : null;
  } catch (error) {
    if (error instanceof TransactionReceiptNotFoundError) return null;
    throw error;
  }
}

/** Nodes have served receipts of blocks that were no longer on the chain; the block's own hash decides. */
async function isCanonical(client: PublicClient, number: bigint, hash: Hash): Promise<boolean> {
  return (await client.getBlock({ blockNumber: number })).hash === hash;
}
