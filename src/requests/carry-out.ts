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

/** A checked request, before anything of it is stored. */
export interface Asked<R extends ChainRequest> {
  family: Family<R>;
  chain: Chain;
  kind: R["kind"];
  /** Everything that makes two requests of this kind and chain the same, in one spelling; without what is drawn for it. */
  canonical: string;
  /** As sent. */
  idempotencyKey: string | undefined;
  /** Of a token of a list. */
  place?: ListPlace;
  /** Whether an equal request's effect is still there: without a key of the client's own this one repeats it only then. */
  stands?(earlier: Intent): Promise<boolean>;
  /**
   * Checks what takes a question, and says what to store. Done again when the database found something of it taken meanwhile.
   *
   * @param id follows from account and key: the same for the same request, whatever was lost.
   * @param repeated the request that was accepted under this key.
   * @returns `earlier` when this one repeats it.
   * @throws ServiceError when it is refused; nothing was stored.
   */
  draft(id: string, repeated: () => Promise<Intent | null>): Promise<Draft | { earlier: Intent }>;
  /** Begins what follows the commit; nobody waits for it. */
  accepted?(intent: Intent): void;
}

/**
 * Where a request stands in a list. Ids of a list differ in their last byte only: the operator notes in one word of storage
 * that they are carried out, and a token costs a fifth less gas.
 */
export interface ListPlace {
  /** The client's key of the list: place and key are the same whatever was lost, and whatever else is asked for with it. */
  list: string;
  /** From 0, up to 255. */
  index: number;
}

/** What is stored of a request. */
export interface Draft
  extends Pick<
    NewIntent,
    "payload" | "allowlist" | "factory" | "template" | "owner" | "initData" | "salt" | "predicted" | "freed"
  > {
  /** See `countGas`. */
  bytes: number;
  estimate?: bigint | null;
  tokens?: number;
  /** Keeps what the request refers to; only once its gas is allowed. */
  store?: (() => Promise<void>) | undefined;
}

export interface CarriedOut<R extends ChainRequest> {
  request: R & { transactionHash: Hash };
  /** The client's own key, or the one derived from the request. */
  idempotencyKey: string;
}

/**
 * Equal requests of one process that are under way at the same moment: the first does the work, the others wait for what
 * it finds. A crowd of duplicates then costs one connection and one nonce's worth of questions; between processes the
 * database decides, as it does for a duplicate that comes later.
 */
const underWay = new WeakMap<Services, Map<string, Promise<CarriedOut<ChainRequest>>>>();

/**
 * Makes a request durable and waits until a worker has signed it: when this returns, the relay drives it to an
 * end whatever happens to this process. The same request again is the same transaction.
 *
 * @throws ServiceError what `asked.draft` and `acceptIntent` throw; `plan_limit_exceeded`; `service_unavailable` when it
 *   is held, or could not be signed within ten seconds: it stays accepted, and the same request asks for it again.
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
  // Equal requests are of one family.
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
    // Clients repeat what was refused without a pause; for a moment the same answer holds and costs nothing.
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
 * The first step: the request is on disk, with the one address it can end at and everything that will be signed but nonce
 * and fees.
 *
 * @returns the earlier one, for a request that comes again.
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
      // What stands now may be the effect of an equal request that came meanwhile: then that one is repeated.
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
      // The same key, or a token id, was taken in between: now it is found.
      if (pass > 2 || (error as { code?: unknown }).code !== "23505") throw error;
    }
  }
}

/**
 * The id of what an account asks for under a key, and with it the address of what it deploys: both are known before
 * anything is stored, so a dry run can name them.
 */
export function idOfKey(caller: Caller, { stored }: IntentKey, place?: ListPlace): string {
  if (place && place.index > 255) throw new Error("the last byte of an id has no more places");
  // Older rows have the first word for every kind.
  const text = place
    ? `list ${caller.accountId} ${place.list}`
    : `deployment ${caller.accountId} ${stored.replace(/^client:/, "")}`;
  const hash = createHash("sha256").update(text).digest("hex");
  const hex = place ? hash.slice(0, 30) + place.index.toString(16).padStart(2, "0") : hash;
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
  // A UUID of version 8: its bits are the hash's.
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/**
 * The key of a dry run, drawn when the client sent none, and the id of the request that is sent with it.
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
