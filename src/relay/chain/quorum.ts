import type { Hash, Hex } from "viem";
import type { RpcCall } from "../../rpc/batch.ts";
import { calls, parseHex, parseReceipt } from "./reads.ts";
import type { Nodes } from "./rpc-nodes.ts";

/** `denied`: an endpoint says otherwise of the same block; `unknown`: too few of them say anything. */
export type Agreement = "agreed" | "denied" | "unknown";

/** How a transaction ended, as one endpoint reported. */
export interface Outcome {
  hash: Hash;
  blockHash: Hash;
  /** Null: it counts either way. */
  succeeded: boolean | null;
}

/**
 * Whether enough endpoints say the same of a transaction, before something ends by it.
 *
 * @param quorum more than there are endpoints is all of them.
 */
export async function agreeOnOutcome(nodes: Nodes, quorum: number, outcome: Outcome): Promise<Agreement> {
  if (quorum <= 1) return "agreed";
  const { hash, blockHash, succeeded } = outcome;
  const all = await nodes.all();
  const answers = await Promise.allSettled(
    all.map(async (node) => {
      const [answer] = await node.ask([calls.receipt(hash)]);
      return parseReceipt(answer, hash);
    }),
  );
  const votes = answers
    .map((answer) => (answer.status === "fulfilled" ? answer.value : null))
    .filter((receipt) => receipt?.blockHash === blockHash)
    .map((receipt) => succeeded === null || (receipt?.status === 1n) === succeeded);
  if (votes.includes(false)) return "denied";
  return votes.length >= nodes.needed(quorum) ? "agreed" : "unknown";
}

/** Whether enough endpoints give the same bytes: what is made from them replaces a whole record. */
export async function agreeOnBytes(nodes: Nodes, quorum: number, call: RpcCall, bytes: Hex): Promise<boolean> {
  if (quorum <= 1) return true;
  const all = await nodes.all();
  const answers = await Promise.allSettled(
    all.map(async (node) => {
      const [answer] = await node.ask([call]);
      return parseHex(answer, "bytes");
    }),
  );
  const same = answers.filter((answer) => answer.status === "fulfilled" && answer.value === bytes);
  return same.length >= nodes.needed(quorum);
}
