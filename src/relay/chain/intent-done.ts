import { encodeFunctionData, type Hex } from "viem";
import { productOperatorAbi } from "../../../contracts/abi/product-operator.ts";
import type { Chain } from "../../chains.ts";
import { toAddress } from "../../db/bytes.ts";
import { NodeFault } from "../../rpc/batch.ts";
import type { Intent } from "../store/intents.ts";
import type { RelayContext } from "./context.ts";
import { intentName, isOperation } from "./operation.ts";
import { agreeOnBytes } from "./quorum.ts";
import { calls, parseHex } from "./reads.ts";

/**
 * Whether the operator has carried a request out, by whatever transaction, at the newest block of any endpoint: then
 * nothing may end it as undone. False for what no operator carries out.
 *
 * @throws NodeFault when none says that it has, and fewer than have to agree answer.
 */
export async function isIntentDone(services: RelayContext, chain: Chain, intent: Intent): Promise<boolean> {
  if (!isOperation(intent.kind)) return false;
  const nodes = services.relay.nodes(chain);
  const call = doneCall(intent);
  const answers = await Promise.allSettled(
    (await nodes.all()).map(async (node) => {
      const word = parseHex((await node.ask([call]))[0], "whether an intent is done");
      return word !== "0x" && BigInt(word) === 1n;
    }),
  );
  const words = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  if (words.includes(true)) return true;
  if (words.length < nodes.needed(chain.relay.quorum))
    throw new NodeFault(`too few endpoints of ${chain.name} tell whether a request is done`);
  return false;
}

/** Whether enough endpoints say that it was carried out: of a batch the transaction's own success does not tell. */
export async function agreeOnDone(services: RelayContext, chain: Chain, intent: Intent): Promise<boolean> {
  const done: Hex = `0x${"1".padStart(64, "0")}`;
  return await agreeOnBytes(services.relay.nodes(chain), chain.relay.quorum, doneCall(intent), done);
}

/**
 * The same on top of what waits in a mempool: a node may simulate there, and refuse what waits there to be done. The words of
 * that refusal say nothing of it, as any contract that is called may choose them.
 */
export async function isIntentPending(services: RelayContext, chain: Chain, intent: Intent): Promise<boolean> {
  if (!isOperation(intent.kind)) return false;
  return await services.relay.nodes(chain).first(async (node) => {
    const [pending, latest] = await node.ask([doneCall(intent, "pending"), doneCall(intent)]);
    return BigInt(parseHex(pending && "result" in pending ? pending : latest, "whether an intent is done")) === 1n;
  });
}

function doneCall(intent: Intent, at: "latest" | "pending" = "latest") {
  const args = [intentName(intent.root_id)] as const;
  const data = encodeFunctionData({ abi: productOperatorAbi, functionName: "isIntentDone", args });
  return calls.call(toAddress(intent.factory), data, at);
}
