import { type Chain, operatorsOf } from "../../chains.ts";
import { toAddress } from "../../db/bytes.ts";
import { NodeFault } from "../../rpc/batch.ts";
import type { Intent } from "../store/intents.ts";
import type { RelayContext } from "./context.ts";
import type { DeploymentLog } from "./find-deployment-log.ts";
import { operationTopics } from "./operation.ts";
import { calls, parsePlacedLogs } from "./reads.ts";

/**
 * The operator's event that an intent was carried out, by whatever transaction.
 *
 * @returns null while there is none; one endpoint's word, which its caller has to have confirmed.
 * @throws NodeFault when no endpoint gives a usable answer.
 */
export async function findOperationLog(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
): Promise<DeploymentLog | null> {
  const topics = operationTopics(intent);
  const address = toAddress(intent.factory);
  const place = { address, block: operatorsOf(chain).find((operator) => operator.address === address)?.block ?? 0n };
  return await services.relay.nodes(chain).first(async (node) => {
    const [answer] = await node.ask([calls.logs(place, topics)]);
    const [log, ...more] = parsePlacedLogs(answer, topics);
    if (more.length > 0) throw new NodeFault("an intent was carried out twice, as a node says");
    return log ?? null;
  });
}
