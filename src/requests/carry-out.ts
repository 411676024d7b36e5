import { createHash, randomUUID } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Hash } from "viem";
import type { Caller } from "../auth/caller.ts";
import { planOf } from "../auth/plans.ts";
import { entryBound } from "../cache-bounds.ts";
import type { Chain } from "../chains.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import {
  acceptIntent,
  findKey,
  findRepeated,
  type IntentKey,
  type NewIntent,
  storedKey,
} from "../transactions/accept/accept-intent.ts";
import { asLost, untilSigned, withoutHash } from "../transactions/accept/until-signed.ts";
import { refreshFees } from "../transactions/chain/market.ts";
import { callKind, type Intent } from "../transactions/store/intents.ts";
import { planGasReservation } from "../transactions/submit/budget.ts";
import { countGas } from "../transactions/submit/gas-ceiling.ts";
import { type ChainRequest, type Family, getFreshRequest } from "./requests.ts";

/** A checked request of which nothing is stored yet. */
export interface Asked<R extends ChainRequest> {
  family: Family<R>;
  chain: Chain;
  kind: R["kind"];
  /** All that makes two requests of this kind and chain equal, in one spelling; no values drawn for each request. */
  canonical: string;
  /** As sent. */
  idempotencyKey: string | undefined;
  /** For a token of a list. */
  place?: ListPlace;
  /** Whether an equal request's effect is still in place: only then this request, sent without a key, repeats it. */
  stands?(earlier: Intent): Promise<boolean>;
  /**
   * Makes the checks that need calls; returns what to store. Called again if the database finds a part taken meanwhile.
   *
   * @param id follows from account and key: the same for the same request, whatever was lost.
   * @param repeated reads the request that was accepted under this key.
   * @returns `earlier` when this request repeats it.
   * @throws ServiceError when the request is refused; nothing was stored.
   */
  draft(id: string, repeated: () => Promise<Intent | null>): Promise<Draft | { earlier: Intent }>;
  /** Starts work that follows the commit; nobody waits for it. */
  accepted?(intent: Intent): void;
}

/**
 * A request's position in a list. Ids of a list differ only in their last byte: the operator marks them as carried out
 * in one storage word, which saves a fifth of the gas per token.
 */
export interface ListPlace {
  /** The client's key of the list. Position and key stay the same whatever was lost, and whatever else it contains. */
  list: string;
  /** From 0, up to 255. */
  index: number;
}

/** The part of a request that is stored. */
export interface Draft
  extends Pick<
    NewIntent,
    "payload" | "allowlist" | "factory" | "template" | "owner" | "initData" | "salt" | "predicted" | "freed"
  > {
  /** See `countGas`. */
  bytes: number;
  estimate?: bigint | null;
  tokens?: number;
  /** Stores what the request refers to; called only once its gas is allowed. */
  store?: (() => Promise<void>) | undefined;
}

export interface CarriedOut<R extends ChainRequest> {
  request: R & { transactionHash: Hash };
  /** The client's own key, or the key derived from the request. */
  idempotencyKey: string;
}

/**
 * Equal requests that one process handles at the same moment: the first does the work, the others wait for its result.
 * A crowd of duplicates then costs one connection and the calls of one request; between processes the database decides,
 * as it does for a later duplicate.
 */
const underWay = new WeakMap<Services, Map<string, Promise<CarriedOut<ChainRequest>>>>();

/**
 * Stores a request and waits until a worker has signed it: once this returns, the relay finishes it whatever happens to
 * this process. The same request again is the same transaction.
 *
 * @throws ServiceError as `asked.draft` and `acceptIntent`; `plan_limit_exceeded`; `service_unavailable` when it is
 *   held, or could not be signed within ten seconds: it stays accepted, and repeating the request asks for it again.
 */
export async function carryOut<R extends ChainRequest>(
  services: Services,
  caller: Caller,
  asked: Asked<R>,
): Promise<CarriedOut<R>> {
  const shared = underWay.get(services) ?? new Map<string, Promise<CarriedOut<ChainRequest>>>();
  underWay.set(services, shared);
  const name = `${caller.accountId} ${checkKey(asked.idempotencyKey)} ${hashOf(asked).toString("hex")}`;
  const earlier = shared.get(name);
  // Equal requests belong to one family.
  if (earlier) return (await earlier) as CarriedOut<R>;
  const mine = doOnce(services, caller, asked, name);
  shared.set(name, mine);
  try {
    return await mine;
  } finally {
    shared.delete(name);
  }
}

const refusalMs = 1_000;
const mostRefusals = 2_000;
const refused = new WeakMap<Services, LRUCache<string, ServiceError>>();

async function doOnce<R extends ChainRequest>(
  services: Services,
  caller: Caller,
  asked: Asked<R>,
  name: string,
): Promise<CarriedOut<R>> {
  const refusals = refused.get(services) ?? new LRUCache({ ...entryBound(mostRefusals), ttl: refusalMs });
  refused.set(services, refusals);
  const known = refusals.get(name);
  if (known) throw known;
  const intent = await accept(services, caller, asked).catch((error: unknown) => {
    // Clients repeat refused requests without a pause; for a moment they get the same answer at no cost.
    if (error instanceof ServiceError && error.status < 500) refusals.set(name, error);
    throw error;
  });
  await untilSigned(services, asked.chain, intent);
  const request = await getFreshRequest(services, caller, asked.family, intent.id).catch(asLost);
  const { transactionHash } = request;
  if (!transactionHash) throw withoutHash(intent, request.state);
  return {
    request: { ...request, transactionHash },
    idempotencyKey: (intent.idem_key ?? "").replace(/^client:/, ""),
  };
}

/**
 * The first step: stores the request, with the one address that it can lead to and everything that will be signed
 * except nonce and fees.
 *
 * @returns the earlier intent, for a repeated request.
 * @throws ServiceError as `carryOut`.
 */
export async function accept<R extends ChainRequest>(
  services: Services,
  caller: Caller,
  asked: Asked<R>,
): Promise<Intent> {
  const { chain, kind } = asked;
  const given = checkKey(asked.idempotencyKey);
  const requestHash = hashOf(asked);
  const tenantId = caller.accountId;
  for (let pass = 0; ; pass += 1) {
    const readKey = async () => await findKey(services.db, tenantId, given, requestHash);
    const [{ repeats, key }] = await Promise.all([readKey(), refreshFees(services, chain)]);
    if (repeats && !asked.stands) return repeats;
    if (repeats && (await asked.stands?.(repeats))) {
      // The current state may be the effect of an equal request accepted meanwhile: then this one repeats that.
      const { repeats: newest } = await readKey();
      if (newest?.id === repeats.id || pass > 2) return newest ?? repeats;
      continue;
    }
    const own = { tenantId, key, requestHash };
    const id = idOfKey(caller, key, asked.place);
    const drafted = await asked.draft(id, async () => (given === null ? null : await findRepeated(services.db, own)));
    if ("earlier" in drafted) return drafted.earlier;
    const { bytes, estimate = null, tokens = 1, store, ...columns } = drafted;
    const gas = countGas(planOf(caller), { kind, bytes, estimate, tokens });
    const spent = { tenantId, tier: caller.tier, kind: callKind(kind), bytes, estimate };
    await store?.();
    try {
      const reservation = planGasReservation(services, chain, spent);
      const intent = await acceptIntent(services.db, {
        ...own,
        id,
        chainId: chain.id,
        kind,
        ...columns,
        gas,
        reservation,
      });
      asked.accepted?.(intent);
      return intent;
    } catch (error) {
      // The same key, or a token id, was taken in between: the next pass reads it.
      if (pass > 2 || (error as { code?: unknown }).code !== "23505") throw error;
    }
  }
}

/**
 * The id of an account's request under a key, which also determines the address that it deploys: both are known before
 * anything is stored, so a dry run can return them.
 */
export function idOfKey(caller: Caller, { stored }: IntentKey, place?: ListPlace): string {
  if (place && place.index > 255) throw new Error("the last byte of an id has no more places");
  // Older rows use the first word for every kind.
  const text = place
    ? `list ${caller.accountId} ${place.list}`
    : `deployment ${caller.accountId} ${stored.replace(/^client:/, "")}`;
  const hash = createHash("sha256").update(text).digest("hex");
  const hex = place ? hash.slice(0, 30) + place.index.toString(16).padStart(2, "0") : hash;
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
  // A UUID of version 8, with bits from the hash.
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/**
 * The key of a dry run, random when the client sent none, and the id of the request that is sent with this key.
 *
 * @throws as `checkKey`.
 */
export function planKey(caller: Caller, key: string | undefined, place?: ListPlace) {
  const idempotencyKey = checkKey(key) ?? randomUUID();
  return { idempotencyKey, id: idOfKey(caller, storedKey(idempotencyKey), place) };
}

/** @returns null when the client sent none. @throws ServiceError `value_error`. */
export function checkKey(key: string | undefined): string | null {
  if (key === undefined) return null;
  if (/^[\x21-\x7e]{1,200}$/.test(key)) return key;
  throw new ServiceError("value_error", "an Idempotency-Key is 1 to 200 visible ASCII characters", {
    field: "idempotencyKey",
  });
}

function hashOf({ chain, kind, canonical }: Pick<Asked<ChainRequest>, "chain" | "kind" | "canonical">): Buffer {
  return createHash("sha256").update(`${kind} ${chain.id} ${canonical}`).digest();
}
