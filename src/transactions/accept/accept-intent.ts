import { setTimeout as sleep } from "node:timers/promises";
import { type Kysely, sql } from "kysely";
import type { Address, Hex } from "viem";
import { toBytes } from "../../db/bytes.ts";
import type { Database } from "../../db/database.ts";
import type { IntentKind } from "../../db/tables/relay.ts";
import { setTenant, withTenantScope } from "../../db/tenancy/tenant.ts";
import { ServiceError } from "../../errors/errors.ts";
import { batched } from "../store/batch.ts";
import { failpoint } from "../store/failpoint.ts";
import { type Intent, lostRequest, newestRetry, replacesRecord } from "../store/intents.ts";
import { fullLimit, type GasReservation, keepLimits, type Limit, readLimit, refusalOf } from "../submit/budget.ts";
import type { CountedGas } from "../submit/gas-ceiling.ts";

/** Identifies repeated requests: see `findKey`. */
export interface IntentKey {
  /** As stored: `client:` and the client's own key, valid for ever, or a derived key. */
  stored: string;
  /** The client sent no key: equal requests within a window are one request. */
  derived: boolean;
}

/** A token id claimed by an earlier mint whose token was burned. */
export interface FreedClaim {
  tokenId: string;
  /** Root id of the mint that claimed it. */
  rootId: string;
}

/** A request that passed every check, with the one address that it can lead to. */
export interface NewIntent {
  id: string;
  tenantId: string;
  key: IntentKey;
  /** SHA-256 of the request in canonical form. */
  requestHash: Buffer;
  chainId: number;
  kind: IntentKind;
  payload: unknown;
  allowlist: { root: Hex; entries: readonly string[] } | null;
  factory: Address;
  template: Address;
  owner: Address;
  initData: Hex;
  salt: Hex;
  predicted: Address;
  /** For a mint: claims on its contract that end when it is accepted. */
  freed?: readonly FreedClaim[];
  /** See `countGas`. */
  gas: CountedGas;
  /** See `planGasReservation`. */
  reservation: GasReservation;
}

/**
 * Stores a request once, with its reserved cost; if its key was used, returns the earlier intent. Two processes that
 * take the same request at once agree through the unique key, without a lock.
 *
 * A limit that is only full of transactions being mined is retried for a moment.
 *
 * @throws ServiceError `value_error` when the key was used for another request; a limit of `planGasReservation`.
 */
export async function acceptIntent(db: Kysely<Database>, intent: NewIntent): Promise<Intent> {
  // A long list, which others would wait for, gets its own statement, and so does a request that keeps an order.
  const isAlone = isListed(intent) || replacesRecord(intent.kind) || intent.kind === "token_update";
  const name = isAlone ? intent.id : `${intent.tenantId} ${intent.chainId}`;
  const inserted = await withRoom(db, intent.reservation.limits, () => insertTogether(db, name, intent));
  const accepted = inserted ?? (await findByKey(db, intent));
  if (accepted.id === intent.id) failpoint("accept-after-commit");
  return await newestRetry(db, accepted);
}

async function findByKey(db: Kysely<Database>, intent: NewIntent): Promise<Intent> {
  const earlier = await findRepeated(db, intent);
  if (!earlier) throw lostRequest();
  return earlier;
}

/**
 * The request accepted under a key; null when there is none.
 *
 * @throws ServiceError `value_error` when the key was used for another request.
 */
export async function findRepeated(
  db: Kysely<Database>,
  { tenantId, key, requestHash }: Pick<NewIntent, "tenantId" | "key" | "requestHash">,
): Promise<Intent | null> {
  const earlier = await db
    .selectFrom("service.intent")
    .selectAll()
    .where("tenant_id", "=", tenantId)
    .where("idem_key", "=", key.stored)
    .executeTakeFirst();
  if (!earlier) return null;
  if (earlier.req_hash.equals(requestHash)) return earlier;
  throw new ServiceError(
    "value_error",
    "this Idempotency-Key was used for another request; use a new key for a new request",
    { field: "idempotencyKey" },
  );
}

/**
 * The key under which a request is stored, and the intent that it repeats. Without a client's key, an equal request
 * repeats the earlier one while that is under way and until ten minutes after it ended. A request that ended without
 * its effect is not repeated: then the request is a new one.
 *
 * @param given the client's own key, valid for ever; null when it sent none.
 * @param requestHash SHA-256 of the request in canonical form.
 * @returns `key` for a request that repeats none, also when the effect of `repeats` has been undone since.
 */
export async function findKey(
  db: Kysely<Database>,
  tenantId: string,
  given: string | null,
  requestHash: Buffer,
): Promise<{ repeats: Intent | null; key: IntentKey }> {
  if (given !== null) return { repeats: null, key: storedKey(given) };
  const rows = await readTogether(db, tenantId, { tenantId, requestHash });
  const live = rows.findLast((row) => row.live);
  // Counted from committed rows, so that all processes that see the same past try the same key.
  const key = { stored: `derived:${requestHash.toString("hex")}:${rows.length}`, derived: true };
  if (!live) return { repeats: null, key };
  const { live: _, ...row } = live;
  return { repeats: await newestRetry(db, row), key };
}

/** The intents of equal requests without a key, oldest first; simultaneous requests of one account share the query. */
const readTogether = batched(
  async (db: Kysely<Database>, wanted: readonly { tenantId: string; requestHash: Buffer }[]) => {
    const rows = await db
      .selectFrom("service.intent")
      .selectAll()
      // A fixed clock bucket would split one request in two at its edge: the window starts when the earlier one ends.
      .select(
        sql<boolean>`(SELECT last.state NOT IN ('expired', 'cancelled', 'failed_onchain')
            AND (last.settled_at IS NULL OR last.settled_at > clock_timestamp() - interval '10 minutes')
            FROM service.intent last WHERE last.root_id = intent.root_id ORDER BY last.retry_number DESC LIMIT 1)
          AND (kind NOT IN ('update', 'contract_update', 'token_update') OR NOT EXISTS (
            -- After "A, B" a second "A" is a request of its own.
            SELECT FROM service.intent later WHERE later.kind = intent.kind AND later.chain_id = intent.chain_id
              AND later.predicted_addr = intent.predicted_addr AND later.seq > intent.seq
              AND (later.kind <> 'token_update' OR later.payload -> 'tokens' -> 0 ->> 'tokenId'
                = intent.payload -> 'tokens' -> 0 ->> 'tokenId')))`.as("live"),
      )
      .where("tenant_id", "in", [...new Set(wanted.map(({ tenantId }) => tenantId))])
      .where(
        "req_hash",
        "in",
        wanted.map(({ requestHash }) => requestHash),
      )
      .where("idem_derived", "=", true)
      .orderBy("seq")
      .execute();
    return wanted.map(({ requestHash }) => rows.filter((row) => row.req_hash.equals(requestHash)));
  },
  { most: 32, retryIndividually: false },
);

/** @param given the client's own key; a derived key that we returned keeps its meaning when a client sends it. */
export function storedKey(given: string): IntentKey {
  const ours = /^derived:[0-9a-f]{64}:\d{1,9}$/.test(given);
  return { stored: ours ? given : `client:${given}`, derived: false };
}

/**
 * A single statement without a transaction around it, because all who spend from the same limits wait until its commit.
 * Requests of one account and chain that arrive meanwhile share the next one; if it is refused, each is tried alone.
 *
 * @returns undefined when the key was used.
 */
const insertTogether = batched(
  (db: Kysely<Database>, intents: readonly NewIntent[]) =>
    // The first caller's tenant scope may have changed by now: one document can sign up as another account.
    withTenantScope(() => {
      setTenant(intents[0]?.tenantId ?? "");
      return insertIntents(db, intents);
    }),
  { most: 16, retryIndividually: true },
);

async function insertIntents(
  db: Kysely<Database>,
  asked: readonly NewIntent[],
): Promise<readonly (Intent | undefined)[]> {
  // Two processes that get the same requests lock their keys in the same order.
  const intents = [...new Map(asked.map((intent) => [intent.id, intent] as const)).values()].sort((a, b) =>
    a.key.stored < b.key.stored ? -1 : 1,
  );
  const statement = sql<Intent & { kept: string[]; synchronous: string }>`
    WITH inserted AS (
      INSERT INTO service.intent (id, root_id, tenant_id, idem_key, idem_derived, req_hash, chain_id, kind, payload,
        allowlist_id, factory, template, owner, init_data, salt, predicted_addr, reserved_wei, gas, gas_ceiling)
      VALUES ${sql.join(intents.map(valuesOf))}
      ON CONFLICT (tenant_id, idem_key) DO NOTHING
      RETURNING *),
    ${listsOf(intents)} ${freedBy(intents)} ${keepLimits(intents)}
    SELECT inserted.*, service.require_limits((SELECT count(*) FROM sums), (SELECT array_agg(scope) FROM kept)) AS kept,
      -- A later commit that waits for the disk brings this one with it, and its client is not answered before: that of the
      -- signature, or of the reason why there is none. So those who wait for the same limits do not wait for the disk.
      set_config('synchronous_commit', 'off', true) AS synchronous
    FROM inserted`.execute(db);
  // Everything is decided and nothing is stored: the statement has not been sent yet.
  failpoint("accept-before-commit");
  const { rows } = await statement;
  const inserted = new Map(rows.map(({ kept: _kept, synchronous: _synchronous, ...row }) => [row.id, row] as const));
  return asked.map(({ id, requestHash }) => {
    const row = inserted.get(id);
    // Another request under the same key has the same id.
    return row?.req_hash.equals(requestHash) ? row : undefined;
  });
}

function valuesOf(intent: NewIntent) {
  const { id, key, reservation, gas } = intent;
  return sql`(${id}, ${id}, ${intent.tenantId}, ${key.stored}, ${key.derived}, ${intent.requestHash}, ${intent.chainId},
    ${intent.kind}, ${JSON.stringify(intent.payload)}, ${isListed(intent) ? id : null}, ${toBytes(intent.factory)},
    ${toBytes(intent.template)}, ${toBytes(intent.owner)}, ${toBytes(intent.initData)}, ${toBytes(intent.salt)},
    ${toBytes(intent.predicted)}, ${reservation.wei}, ${gas.gas}, ${gas.ceiling})`;
}

function isListed({ allowlist }: NewIntent): boolean {
  return allowlist !== null && allowlist.entries.length > 0;
}

function listsOf(intents: readonly NewIntent[]) {
  const listed = intents.filter(isListed);
  if (listed.length === 0) return sql``;
  const lists = listed.map(
    ({ id, allowlist }) =>
      sql`(${id}::uuid, ${toBytes(allowlist?.root ?? "0x")}::bytea, ${[...(allowlist?.entries ?? [])]}::text[])`,
  );
  return sql`lists AS (
    INSERT INTO service.allowlist (id, tenant_id, root, entries)
    SELECT id, tenant_id, root, entries FROM inserted JOIN (VALUES ${sql.join(lists)}) AS l (id, root, entries) USING (id)),`;
}

/** Runs before the trigger that claims the ids for these mints. */
function freedBy(intents: readonly NewIntent[]) {
  const freed = intents.flatMap(({ id, freed = [] }) => freed.map((claim) => ({ id, ...claim })));
  if (freed.length === 0) return sql``;
  return sql`freed AS (
    DELETE FROM service.token_claim c USING inserted,
      unnest(${freed.map(({ id }) => id)}::uuid[], ${freed.map(({ tokenId }) => tokenId)}::numeric[],
        ${freed.map(({ rootId }) => rootId)}::uuid[]) AS f (id, token_id, root_id)
    WHERE f.id = inserted.id AND c.chain_id = inserted.chain_id AND c.contract = inserted.predicted_addr
      AND c.token_id = f.token_id AND c.root_id = f.root_id),`;
}

const withinMs = 2_000;
const pollMs = 250;
/** Maximum waiting requests per process: a crowd of them would occupy connections for nothing. */
const mostWaiting = 64;

let waiting = 0;

/**
 * Runs work that needs free budget in spending limits. A limit that is full of transactions being mined releases most
 * of that soon, so the work is retried for up to two seconds.
 *
 * @throws ServiceError which limit is exhausted, and until when; any other error of `accept`.
 */
async function withRoom<T>(db: Kysely<Database>, limits: readonly Limit[], accept: () => Promise<T>): Promise<T> {
  for (const end = performance.now() + withinMs; ; ) {
    try {
      return await accept();
    } catch (error) {
      const limit = fullLimit(limits, error);
      if (!limit) throw error;
      const full = await readLimit(db, limit);
      if (!full.passes || waiting >= mostWaiting || performance.now() > end) throw refusalOf(full);
    }
    waiting += 1;
    try {
      await sleep(pollMs);
    } finally {
      waiting -= 1;
    }
  }
}
