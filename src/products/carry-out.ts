import { createHash, randomUUID } from "node:crypto";
import { LRUCache } from "lru-cache";
import { type Address, type Hex, zeroAddress, zeroHash } from "viem";
import type { Caller } from "../auth/caller.ts";
import { planOf } from "../auth/plans.ts";
import { entryBound } from "../cache-bounds.ts";
import type { Chain } from "../chains.ts";
import { checkKey, idOfKey } from "../collections/accept-deployment.ts";
import { SharedRequests } from "../collections/shared-requests.ts";
import { toBytes } from "../db/bytes.ts";
import { ServiceError } from "../errors/errors.ts";
import { refreshFees } from "../relay/chain/current-fees.ts";
import { requireOperator } from "../relay/chain/deployable.ts";
import { intentName } from "../relay/chain/encode-deploy.ts";
import { encodeOperation, type OperationKind } from "../relay/chain/operation.ts";
import {
  acceptIntent,
  type FreedClaim,
  findKey,
  findRepeated,
  type IntentKey,
  storedKey,
} from "../relay/requests/accept-intent.ts";
import { asLost, untilSigned, withoutHash } from "../relay/requests/until-signed.ts";
import type { Intent } from "../relay/store/intents.ts";
import { planGasReservation } from "../relay/submit/budget.ts";
import { type CountedGas, countGas } from "../relay/submit/gas-ceiling.ts";
import type { Services } from "../services.ts";
import { getRequest, type ProductRequest } from "./get-request.ts";
import { type SimulatedCall, simulateCall } from "./simulate-call.ts";

/** A checked request that the operator of product contracts is to carry out. */
export interface Operation {
  chain: Chain;
  kind: OperationKind;
  /** Who carries it out; absent: the operator that new contracts get. */
  operator?: Address | undefined;
  /** Everything that makes two requests the same, in one spelling; without what is drawn for it. */
  canonical: string;
  /** As sent. */
  idempotencyKey: string | undefined;
  /** What follows from the request's id, which follows from its key: the same for the same request, whatever was lost. */
  draft(id: string): Promise<OperationDraft>;
  /** Whether an equal request's effect is still there: without a key of the client's own this one repeats it only then. */
  stands?(earlier: Intent): Promise<boolean>;
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

export interface CarriedOut {
  request: ProductRequest & { transactionHash: Hex };
  /** The client's own key, or the one derived from the request. */
  idempotencyKey: string;
}

const shared = new WeakMap<Services, SharedRequests<CarriedOut>>();

/**
 * Makes a request durable, has it signed and stored, and starts sending it: when this returns, the relay drives it to an
 * end whatever happens to this process. The same request again is the same transaction.
 *
 * @throws ServiceError `value_error` when the chain would refuse it, before anything is stored or spent;
 *   `plan_limit_exceeded`; `service_unavailable` when it could not be signed within ten seconds: it stays queued.
 */
export async function carryOut(services: Services, caller: Caller, operation: Operation): Promise<CarriedOut> {
  const key = checkKey(operation.idempotencyKey);
  const requests = shared.get(services) ?? new SharedRequests();
  shared.set(services, requests);
  const name = `${caller.accountId} ${key} ${hashOf(operation).toString("hex")}`;
  return await requests.do(name, () => doOnce(services, caller, key, operation));
}

async function doOnce(
  services: Services,
  caller: Caller,
  key: string | null,
  operation: Operation,
): Promise<CarriedOut> {
  const refusals = recentRefusals(services);
  const name = `${caller.accountId} ${key} ${hashOf(operation).toString("hex")}`;
  const known = refusals.get(name);
  if (known) throw known;
  const intent = await accept(services, caller, key, operation).catch((error: unknown) => {
    // Clients repeat what was refused without a pause; for a moment the same answer holds and costs nothing.
    if (error instanceof ServiceError && error.status < 500) refusals.set(name, error);
    throw error;
  });
  await untilSigned(services, operation.chain, intent);
  const request = await getRequest(services, caller, { id: intent.id }).catch(asLost);
  const { transactionHash } = request;
  if (!transactionHash) throw withoutHash(intent, request.state);
  return {
    request: { ...request, transactionHash },
    idempotencyKey: (intent.idem_key ?? "").replace(/^client:/, ""),
  };
}

const refusalMs = 1_000;
const mostRefusals = 2_000;
const refused = new WeakMap<Services, LRUCache<string, ServiceError>>();

function recentRefusals(services: Services): LRUCache<string, ServiceError> {
  const known = refused.get(services) ?? new LRUCache({ ...entryBound(mostRefusals), ttl: refusalMs });
  refused.set(services, known);
  return known;
}

/** The first step: the request is on disk, with everything that will be signed but nonce and fees. */
async function accept(services: Services, caller: Caller, key: string | null, operation: Operation): Promise<Intent> {
  const { chain, kind } = operation;
  const requestHash = hashOf(operation);
  for (let pass = 0; ; pass += 1) {
    const [found] = await Promise.all([
      findKey(services.db, caller.accountId, key, requestHash),
      refreshFees(services, chain),
    ]);
    if (found.repeats && ((await operation.stands?.(found.repeats)) ?? true)) return found.repeats;
    const own = { tenantId: caller.accountId, key: found.key, requestHash };
    const repeated = key === null ? null : await findRepeated(services.db, own);
    if (repeated) return repeated;
    const { id, draft, call } = await draftOf(caller, found.key, operation);
    const { earlier = null, freed = [] } = (await operation.findEarlier?.(draft)) ?? {};
    if (earlier) return earlier;
    const { refusal, gas: simulated } = await simulateCall(services, chain, call);
    if (refusal !== null) throw refusedBy(refusal);
    const gas = gasOf(caller, operation, draft, simulated);
    await operation.store?.();
    try {
      return await acceptIntent(services.db, {
        ...{ ...own, id, chainId: chain.id, kind, payload: draft.payload, allowlist: null },
        freed,
        factory: call.to,
        // The operator's own, which nobody has to know.
        template: zeroAddress,
        owner: draft.owner,
        initData: draft.data,
        salt: zeroHash,
        predicted: draft.target,
        gas,
        reservation: planGasReservation(services, chain, {
          ...{ tenantId: caller.accountId, tier: caller.tier, kind: "operate", estimate: gas.gas },
          bytes: draft.data.length / 2,
        }),
      });
    } catch (error) {
      // The same key, or a token id, was taken in between: now it is found.
      if (pass > 2 || (error as { code?: unknown }).code !== "23505") throw error;
    }
  }
}

async function draftOf(
  caller: Caller,
  key: IntentKey,
  operation: Operation,
): Promise<{ id: string; draft: OperationDraft; call: SimulatedCall }> {
  const id = idOfKey(caller, key);
  const draft = await operation.draft(id);
  const { operator } = requireOperator(operation.chain);
  const to = operation.operator ?? operator.address;
  const data = encodeOperation({
    kind: operation.kind,
    root_id: id,
    predicted_addr: toBytes(draft.target),
    init_data: toBytes(draft.data),
  });
  return { id, draft, call: { to, data, intent: intentName(id) } };
}

/** What a request would do; nothing of it was stored, signed or spent. */
export interface OperationPlan {
  /** Send the same request with this key, and this is what becomes of it. */
  idempotencyKey: string;
  payload: object;
  contract: Address;
  gas: bigint;
  maxFeePerGasWei: bigint;
  /** What the transaction would cost at the fees of now. */
  costWei: bigint;
  /** What it could cost at most. */
  maxCostWei: bigint;
}

/**
 * Checks and simulates a request without doing it.
 *
 * @throws ServiceError as `carryOut`.
 */
export async function planOperation(services: Services, caller: Caller, operation: Operation): Promise<OperationPlan> {
  const idempotencyKey = checkKey(operation.idempotencyKey) ?? randomUUID();
  const { draft, call } = await draftOf(caller, storedKey(idempotencyKey), operation);
  await operation.findEarlier?.(draft);
  const { refusal, gas, fees } = await simulateCall(services, operation.chain, call);
  if (refusal !== null) throw refusedBy(refusal);
  gasOf(caller, operation, draft, gas);
  // Fresh fees double the base fee to leave room.
  const price = (fees.maxFeePerGas + fees.maxPriorityFeePerGas) / 2n;
  return {
    ...{ idempotencyKey, payload: draft.payload, contract: draft.target, gas },
    maxFeePerGasWei: fees.maxFeePerGas,
    costWei: gas * price,
    maxCostWei: ((gas * 12n) / 10n) * fees.maxFeePerGas,
  };
}

/** @throws ServiceError `plan_limit_exceeded`. */
function gasOf(caller: Caller, { kind }: Operation, draft: OperationDraft, simulated: bigint): CountedGas {
  const { tokens } = draft.payload as { tokens?: readonly unknown[] };
  // What was done already, or cannot be simulated yet, has no estimate.
  const estimate = simulated > 0n ? simulated : null;
  return countGas(planOf(caller), { kind, bytes: draft.data.length / 2, estimate, tokens: tokens?.length ?? 1 });
}

function refusedBy(refusal: string): ServiceError {
  return new ServiceError("value_error", `the contract would refuse it, and nothing was spent: ${refusal}`);
}

function hashOf({ chain, kind, canonical }: Operation): Buffer {
  return createHash("sha256").update(`${kind} ${chain.id} ${canonical}`).digest();
}
