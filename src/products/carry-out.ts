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

/** A checked request that the operator of product contracts is to carry out. */
export interface Operation extends Omit<Asked<ProductRequest>, "family" | "beside" | "draft" | "accepted"> {
  /** Who carries it out; absent: the operator that new contracts get. */
  operator?: Address;
  /** What follows from the request's id, which follows from its key: the same for the same request, whatever was lost. */
  draft(id: string): Promise<OperationDraft>;
  /**
   * Asked before anything is simulated or stored, and again when the database found something of it taken.
   *
   * @returns the earlier request that this one repeats, and what it takes over when it is accepted; it changes nothing.
   * @throws ServiceError when something else is.
   */
  findEarlier?(draft: OperationDraft): Promise<Earlier>;
  /** Keeps what the request refers to; only once the chain would take it. */
  store?(): Promise<void>;
}

export interface Earlier {
  earlier: Intent | null;
  /** Claims of tokens that were burned since: accepting the request ends them. */
  freed: readonly FreedClaim[];
}

export interface OperationDraft {
  payload: object;
  /** The contract that is called, or will stand. */
  target: Address;
  /** Who owns it. */
  owner: Address;
  /** The contract's call; of a deployment the operator's whole call. */
  data: Hex;
}

interface ProductAction extends Pick<Operation, "kind" | "canonical" | "idempotencyKey" | "findEarlier"> {
  /** What it does to the contract; the owner is the one that the contract was deployed with unless another one is given. */
  draft(id: string): Promise<{ payload: ActionPayload; owner?: Address; data: Hex }>;
}

type ActionPayload = Omit<TokensPayload, "contract" | "contractAsSent"> | Pick<ContractUpdatePayload, "changes">;

/** A request that acts on a product contract: without a key it repeats an equal one while what that did still stands. */
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
 * Has the operator of product contracts carry a request out; see `carryOut` of transactions.
 *
 * @throws ServiceError `value_error` when the chain would refuse it, before anything is stored or spent; what that throws.
 */
export async function carryOut(services: Services, caller: Caller, operation: Operation): Promise<CarriedOut> {
  return await request(services, caller, {
    ...operation,
    family: productRequests,
    draft: async (id, repeated) => {
      // A repeat is neither simulated nor held against what it did itself.
      const same = await repeated();
      if (same) return { earlier: same };
      const { draft, call } = await draftOf(operation, id);
      const { earlier = null, freed = [] } = (await operation.findEarlier?.(draft)) ?? {};
      if (earlier) return { earlier };
      const { gas } = await simulateCall(services, operation.chain, call);
      return {
        ...{ payload: draft.payload, allowlist: null, freed, store: operation.store },
        factory: call.to,
        // The operator's own, which nobody has to know.
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
  // What was done already, or cannot be simulated yet, has no estimate.
  return { bytes: data.length / 2, estimate: simulated > 0n ? simulated : null, tokens: tokens?.length ?? 1 };
}

/** What a request would do; nothing of it was stored, signed or spent. */
export interface OperationPlan extends PlannedCost {
  /** Send the same request with this key, and this is what becomes of it. */
  idempotencyKey: string;
  payload: object;
  contract: Address;
}

/**
 * Checks and simulates a request without doing it.
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
  /** The name under which the operator carries it out once. */
  intent: Hex;
}

/** Words that the operator has for a refusal of every call, and that any contract which is called may have too. */
const soundsClosed = /^(OperatorPaused|MissingRole)\b/;

/**
 * Runs a call of the operator as its transaction would, without one. A refusal is final for the client, so as many
 * endpoints as the chain's quorum have to agree on it. What was done already is not refused.
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
  // Without a wallet that may send it there is nothing to ask: the request waits for one.
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
  // It was opened since, or the words are those of a contract that is called.
  if (isRepeated) throw refused;
  return await simulateCall(services, chain, call, true);
}

/**
 * Whether the operator has carried the request out: then it finds that out by itself. The words of a refusal say nothing of
 * it, as any contract that is called may choose them. Asked of the pending block, because nodes simulate on their mempool, where
 * a transaction may wait whose rows were lost; a node that has no pending block is asked of its newest.
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
 * Whether the operator refuses every call of the service now: a matter of its operator, not of the request. It is asked itself,
 * for the words of a refusal may be those of a contract that was called; of the pending block as well, for it may be stopped by
 * a transaction that nodes simulate on and that is in no block yet.
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
 * What all endpoints say of a call that one of them refuses; nothing where that one's word is enough.
 *
 * @throws NodeFault when too few of them answer to call it refused.
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
