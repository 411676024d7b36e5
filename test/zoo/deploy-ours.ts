import type { Caller } from "../../src/auth/caller.ts";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { ServiceError } from "../../src/errors/errors.ts";
import { loggable } from "../../src/rpc/nodes.ts";
import { createRelayMemory } from "../../src/transactions/track/loop-steps.ts";
import { wait } from "../setup/wait.ts";
import { goerli, launch, type RelayHarness } from "../transactions/harness.ts";
import { relayRound } from "../transactions/round.ts";
import type { Outcome } from "./outcome.ts";

/**
 * Deploys a collection as a client does who asks again what was not answered, and lets the worker finish it.
 *
 * @param cause a refusal with these words is the end.
 */
export async function deployOurs(
  h: RelayHarness,
  caller: Caller,
  urls: readonly string[],
  cause?: RegExp,
): Promise<Outcome> {
  const services = h.process({ RPC_URL_GOERLI: urls.join(",") });
  const before = new Set((await h.announced()).map(({ intentId }) => intentId));
  const input = launch();
  const ask = async () => {
    try {
      return { deployment: (await deployCollection(services, caller, input)).deployment };
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== "service_unavailable") throw error;
      const words = JSON.stringify(loggable(error));
      return cause?.test(words) ? { words } : null;
    }
  };
  const answered = await wait("an answer to the deployment", ask);
  if (!answered) throw new Error("the deployment was not answered");
  if ("words" in answered) {
    const made = (await h.announced()).length - before.size;
    const words = answered.words ?? "";
    return made === 0 ? { end: "error", words } : { end: "wrong", what: `${made} collections beside a refusal` };
  }
  const memory = createRelayMemory();
  await h.untilState(answered.deployment.id, ["finalized"], async () => {
    // A worker's loop logs what keeps a round from being done, and goes on.
    await relayRound(services, goerli(services), memory).catch((error: unknown) => {
      if (!(error instanceof ServiceError) && (error as Error).name !== "NodeFault") throw error;
    });
    await h.chain.mine({ blocks: 1 });
  });
  const made = (await h.announced()).filter(({ intentId }) => !before.has(intentId));
  if (made.length !== 1) return { end: "wrong", what: `${made.length} collections` };
  const isSame = made[0]?.collection === answered.deployment.contract.toLowerCase();
  return isSame ? { end: "right" } : { end: "wrong", what: "another collection than was promised" };
}
