import { type Address, encodeFunctionData, type Hex, zeroAddress, zeroHash } from "viem";
import { productOperatorAbi } from "../../contracts/abi/product-operator.ts";
import type { Caller } from "../auth/caller.ts";
import { planOf } from "../auth/plans.ts";
import type { Chain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import { ServiceError } from "../errors/errors.ts";
import { type Asked, type CarriedOut as Carried, planKey, carryOut as request } from "../requests/carry-out.ts";
import { costOf, type PlannedCost, readEstimate, type Simulated, simulate } from "../requests/simulate.ts";
import { NodeFault, type RpcCall, type RpcResult } from "../rpc/endpoint.ts";
import { askNode } from "../rpc/nodes.ts";
import { calls, parseHex } from "../rpc/reads.ts";
import type { Services } from "../services.ts";
import { relayerRole } from "../signing/rules.ts";
import type { FreedClaim } from "../transactions/accept/accept-intent.ts";
import { requireOperator } from "../transactions/chain/context.ts";
import { encodeOperation, intentName } from "../transactions/chain/request-call.ts";
import type { Intent } from "../transactions/store/intents.ts";
import type { ContractUpdatePayload, TokensPayload } from "../transactions/store/payloads.ts";
import { countGas } from "../transactions/submit/gas-ceiling.ts";
import { type Product, type ProductRequest, productRequests } from "./find-product.ts";
import { stillStands } from "./still-stands.ts";

/** A checked request for the operator of product contracts. */
export interface Operation extends Omit<Asked<ProductRequest>, "family" | "beside" | "draft" | "accepted"> {
  /** The operator that carries it out; absent: the one for new contracts. */
  operator?: Address;
  /** Derived from the request's id, which follows from its key: the same for the same request, whatever was lost. */
  draft(id: string): Promise<OperationDraft>;
  /**
   * Called before anything is simulated or stored, and again when the database finds a part of it taken.
   *
   * @returns the earlier request that this one repeats, and the claims to take over on acceptance; changes nothing.
   * @throws ServiceError when another request has taken it.
   */
  findEarlier?(draft: OperationDraft): Promise<Earlier>;
  /** Stores what the request refers to; called only once the chain would accept it. */
  store?(): Promise<void>;
}

export interface Earlier {
  earlier: Intent | null;
  /** Claims of tokens that have been burned since; they end when the request is accepted. */
  freed: readonly FreedClaim[];
}

export interface OperationDraft {
  payload: object;
  /** The contract that is called or deployed. */
  target: Address;
  /** Its owner. */
  owner: Address;
  /** The contract's call; for a deployment, the operator's whole call. */
  data: Hex;
}

interface ProductAction extends Pick<Operation, "kind" | "canonical" | "idempotencyKey" | "findEarlier"> {
  /** Its effect on the contract; the owner defaults to the one that the contract was deployed with. */
  draft(id: string): Promise<{ payload: ActionPayload; owner?: Address; data: Hex }>;
}

type ActionPayload = Omit<TokensPayload, "contract" | "contractAsSent"> | Pick<ContractUpdatePayload, "changes">;

/** A request that acts on a product contract: without a key it repeats an equal one whose effect is still in place. */
export function operationOn(services: Services, caller: Caller, product: Product, action: ProductAction): Operation {
  const { chain, address, operator, deployedOwner } = product;
  return {
    ...action,
    ...{ chain, operator },
    canonical: `${address} ${action.canonical}`,
    stands: (earlier) => stillStands(services, caller, product, earlier),
    draft: async (id) => {
      const { payload, owner = deployedOwner, data } = await action.draft(id);
      const place = { contract: address, contractAsSent: product.asSent };
      return { payload: { ...place, ...payload }, target: address, owner, data };
    },
  };
}

export type CarriedOut = Carried<ProductRequest>;

/**
 * Has the operator of product contracts carry a request out; see `carryOut` of `src/requests`.
 *
 * @throws ServiceError as there, and `value_error` when the chain would refuse it, before anything is stored or spent.
 */
export async function carryOut(services: Services, caller: Caller, operation: Operation): Promise<CarriedOut> {
  return await request(services, caller, {
    ...operation,
    family: productRequests,
    draft: async (id, repeated) => {
      // A repeat is neither simulated nor checked against its own effect.
      const same = await repeated();
      if (same) return { earlier: same };
      const { draft, call } = await draftOf(operation, id);
      const { earlier = null, freed = [] } = (await operation.findEarlier?.(draft)) ?? {};
      if (earlier) return { earlier };
      const { gas } = await simulateCall(services, operation.chain, call);
      return {
        ...{ payload: draft.payload, allowlist: null, freed, store: operation.store },
        factory: call.to,
        // The operator's own template, which is not needed here.
        template: zeroAddress,
        owner: draft.owner,
        initData: draft.data,
        salt: zeroHash,
        predicted: draft.target,
        ...sizeOf(draft, gas),
      };
    },
  });
}

async function draftOf(operation: Operation, id: string): Promise<{ draft: OperationDraft; call: SimulatedCall }> {
  const draft = await operation.draft(id);
  const { operator } = requireOperator(operation.chain);
  const to = operation.operator ?? operator.address;
  const data = encodeOperation({
    kind: operation.kind,
    root_id: id,
    predicted_addr: toBytes(draft.target),
    init_data: toBytes(draft.data),
  });
  return { draft, call: { to, data, intent: intentName(id) } };
}

function sizeOf({ payload, data }: OperationDraft, simulated: bigint) {
  const { tokens } = payload as { tokens?: readonly unknown[] };
  // Requests that are done already, or cannot be simulated yet, have no estimate.
  return { bytes: data.length / 2, estimate: simulated > 0n ? simulated : null, tokens: tokens?.length ?? 1 };
}

/** What a request would do; nothing was stored, signed or spent for it. */
export interface OperationPlan extends PlannedCost {
  /** The same request with this key has this result. */
  idempotencyKey: string;
  payload: object;
  contract: Address;
}

/**
 * Checks and simulates a request without carrying it out.
 *
 * @throws ServiceError as `carryOut`.
 */
export async function planOperation(services: Services, caller: Caller, operation: Operation): Promise<OperationPlan> {
  const { idempotencyKey, id } = planKey(caller, operation.idempotencyKey, operation.place);
  const { draft, call } = await draftOf(operation, id);
  await operation.findEarlier?.(draft);
  const simulated = await simulateCall(services, operation.chain, call);
  countGas(planOf(caller), { kind: operation.kind, ...sizeOf(draft, simulated.gas) });
  return { idempotencyKey, payload: draft.payload, contract: draft.target, ...costOf(simulated) };
}

interface SimulatedCall {
  to: Address;
  data: Hex;
  /** The name under which the operator carries it out, at most once. */
  intent: Hex;
}

/** Errors with which the operator refuses every call; any contract that it calls may return them too. */
const soundsClosed = /^(OperatorPaused|MissingRole)\b/;

/**
 * Runs an operator's call as its transaction would run, without sending one. A refusal is final for the client, so the
 * chain's quorum of endpoints has to agree on it. A call that is done already is not refused.
 *
 * @throws ServiceError `value_error` when it would be refused; `service_unavailable` while too few endpoints answer, or
 *   while the operator refuses every call.
 */
async function simulateCall(
  services: Services,
  chain: Chain,
  call: SimulatedCall,
  isRepeated = false,
): Promise<Simulated> {
  const { to, data, intent } = call;
  const [sender] = await services.relay.operating(chain);
  // Without a wallet that may send it, a simulation says nothing: the request waits for one.
  const from = sender ?? services.relay.account(chain).address;
  const simulated = await simulate(services, chain, { from, to, data });
  if (simulated.refusal === null || !sender || (await isDone(services, chain, to, intent))) return simulated;
  const answers = await askNode(chain, async () => [
    simulated,
    ...(await askOthers(services, chain, calls.estimate(from, to, data))),
  ]);
  const dissent = answers.find(({ refusal }) => refusal === null);
  if (dissent) return { ...simulated, gas: dissent.gas };
  const words = `the contract would refuse it, and nothing was spent: ${simulated.refusal}`;
  const refused = new ServiceError("value_error", words);
  if (!answers.some(({ refusal }) => soundsClosed.test(refusal ?? ""))) throw refused;
  if (await isClosed(services, chain, to, sender))
    throw new ServiceError("service_unavailable", "the operator of product contracts takes no requests now", {
      retryAfterSeconds: 10,
    });
  // The operator was opened since, or the error comes from a contract that is called.
  if (isRepeated) throw refused;
  return await simulateCall(services, chain, call, true);
}

/**
 * Whether the operator has carried the request out. The refusal's error proves nothing, since any called contract can
 * choose it. The pending block is read, because nodes simulate on top of their mempool, where a transaction whose rows
 * were lost may wait; for a node without a pending block, its newest block is read.
 */
async function isDone(services: Services, chain: Chain, operator: Address, intent: Hex): Promise<boolean> {
  const data = encodeFunctionData({ abi: productOperatorAbi, functionName: "isIntentDone", args: [intent] });
  return await askNode(chain, () =>
    services.relay.nodes(chain).first(async (node) => {
      const [pending, latest] = await node.ask([
        calls.call(operator, data, "pending"),
        calls.call(operator, data, "latest"),
      ]);
      return BigInt(parseHex(pending && "result" in pending ? pending : latest, "an answer")) === 1n;
    }),
  );
}

/**
 * Whether the operator contract refuses every call of the service now, which is not the request's fault. The contract
 * is asked directly, since the error of a refusal may come from a contract that it called. The pending block is read
 * too, since it may be stopped by a transaction in no block yet, on which nodes simulate.
 */
async function isClosed(services: Services, chain: Chain, operator: Address, sender: Address): Promise<boolean> {
  const abi = productOperatorAbi;
  const isPaused = encodeFunctionData({ abi, functionName: "paused" });
  const hasRole = encodeFunctionData({ abi, functionName: "hasRole", args: [relayerRole, sender] });
  const questions = (["latest", "pending"] as const).flatMap((at) => [
    calls.call(operator, isPaused, at),
    calls.call(operator, hasRole, at),
  ]);
  return await askNode(chain, () =>
    services.relay.nodes(chain).first(async (node) => {
      const [paused, role, ...pending] = await node.ask(questions);
      const read = (answer: RpcResult | undefined) => BigInt(parseHex(answer, "an answer"));
      if (read(paused) === 1n || read(role) === 0n) return true;
      // Some nodes have no pending block.
      const [pausedSoon, roleSoon] = pending.map((answer) => ("result" in answer ? read(answer) : null));
      return pausedSoon === 1n || roleSoon === 0n;
    }),
  );
}

/**
 * The answers of all endpoints to a call that one of them refuses; empty where one endpoint suffices.
 *
 * @throws NodeFault when too few of them answer to consider the call refused.
 */
async function askOthers(services: Services, chain: Chain, estimate: RpcCall) {
  const nodes = services.relay.nodes(chain);
  const needed = nodes.needed(chain.relay.quorum);
  if (needed <= 1) return [];
  const heard = await nodes.answers(async (node) => readEstimate((await node.ask([estimate]))[0]));
  if (heard.length < needed && !heard.some(({ refusal }) => refusal === null))
    throw new NodeFault("too few endpoints answer to call it refused");
  return heard;
}
