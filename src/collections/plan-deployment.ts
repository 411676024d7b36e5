import { randomUUID } from "node:crypto";
import type { Address } from "viem";
import type { Caller } from "../auth/caller.ts";
import { type Chain, findChain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import { ServiceError } from "../errors/errors.ts";
import { encodeDeploy } from "../relay/chain/encode-deploy.ts";
import { freshFees } from "../relay/chain/fees.ts";
import { askNode } from "../relay/chain/node-failure.ts";
import { calls, parseFeeHistory, parseQuantity } from "../relay/chain/reads.ts";
import { explainRevert } from "../relay/chain/revert.ts";
import { storedKey } from "../relay/requests/accept-intent.ts";
import type { Services } from "../services.ts";
import { checkKey, draftIntent } from "./accept-deployment.ts";
import { checkDeployment } from "./check-deployment.ts";
import { checkTreasury } from "./check-treasury.ts";
import type { DeployCollectionInput } from "./deployment-input.ts";
import { Problems } from "./problems.ts";

/** What a deployment would do; nothing of it was stored, signed or spent. */
export interface DeploymentPlan {
  chain: Chain;
  /** Deploy the same request with this key, and the collection will be at `predictedAddress`. */
  idempotencyKey: string;
  predictedAddress: Address;
  gas: bigint;
  maxFeePerGasWei: bigint;
  /** What the transaction would cost at the fees of now: gas times the next block's base fee and tip. */
  costWei: bigint;
  /** What it could cost at most. */
  maxCostWei: bigint;
  warnings: string[];
}

/**
 * Checks a deployment in every way short of doing it: the request, the treasury, and the transaction by
 * simulation.
 *
 * @throws ServiceError the gravest fault, all of them in `details.problems`; `service_unavailable` while the
 *   node does not answer.
 */
export async function planDeployment(
  services: Services,
  caller: Caller,
  input: DeployCollectionInput,
): Promise<DeploymentPlan> {
  const problems = new Problems();
  const key = problems.attempt(() => checkKey(input.idempotencyKey));
  const checked = await problems.attemptLater(() => checkDeployment(services, caller, input));
  await problems.attemptLater(() =>
    checkTreasury(services, findChain(services.chains, input.chain), input.treasuryAddress),
  );
  problems.check();
  if (!checked) throw new Error("unreachable: what was not checked was a problem");
  const { chain } = checked;
  const idempotencyKey = key ?? randomUUID();
  const draft = await draftIntent(services, caller, checked, storedKey(idempotencyKey));
  const data = encodeDeploy({ root_id: draft.id, owner: toBytes(draft.owner), init_data: toBytes(draft.initData) });
  const { address } = services.relay.account(chain);
  const { gas, fees } = await askNode(chain, () =>
    services.relay.nodes(chain).first(async (node) => {
      const [history, estimate] = await node.ask([calls.feeHistory(), calls.estimate(address, draft.factory, data)]);
      if (estimate && "error" in estimate) throw refusal(estimate.error);
      return { gas: parseQuantity(estimate, "an estimate"), fees: freshFees(chain, parseFeeHistory(history)) };
    }),
  );
  // Fresh fees double the base fee to leave room.
  const price = (fees.maxFeePerGas + fees.maxPriorityFeePerGas) / 2n;
  return {
    chain,
    idempotencyKey,
    predictedAddress: draft.predicted,
    gas,
    maxFeePerGasWei: fees.maxFeePerGas,
    costWei: gas * price,
    maxCostWei: ((gas * 12n) / 10n) * fees.maxFeePerGas,
    warnings: checked.warnings,
  };
}

/** Not a fault of the input that we know of: what the chain says is all there is to say. */
function refusal(error: { message: string; data?: unknown }): ServiceError {
  return new ServiceError("value_error", `the chain would refuse it: ${explainRevert(error)}`);
}
