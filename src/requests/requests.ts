import { type Kysely, sql } from "kysely";
import type { Address, Hash } from "viem";
import type { Caller } from "../auth/caller.ts";
import { type Chain, findChain } from "../chains.ts";
import { toAddress, toBytes, toHash } from "../db/bytes.ts";
import type { Database } from "../db/database.ts";
import type { IntentKind, IntentState } from "../db/tables/relay.ts";
import { watchChanges } from "../endable-stream.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Page } from "../nfts/page.ts";
import type { Services } from "../services.ts";
import { cancelIntent } from "../transactions/accept/cancel-intent.ts";
import { confirmedStates, endedStates } from "../transactions/lifecycle.ts";
import { batched } from "../transactions/store/batch.ts";
import { shownHash } from "../transactions/store/nonces.ts";

/** An account's request to the service's wallets, such as a deployment or a mint, from acceptance to the chain. */
export interface ChainRequest<Kind extends IntentKind = IntentKind, Payload = unknown> {
  id: string;
  kind: Kind;
  chain: Chain;
  state: IntentState;
  /** Why it is waiting. */
  holdReason: string | null;
  /** Why it failed, for people; null unless it did. */
  error: string | null;
  /** The payload that it was accepted with. */
  payload: Payload;
  /** Hash of the transaction that carried it out or was mined, else of the last signed; null before the signature. */
  transactionHash: Hash | null;
  /** The contract that it acts on or deploys. Nothing may be sent to a deployed one before the request is confirmed. */
  contract: Address;
  /** On the chain, and deep enough to be shown; false again after a deep reorganisation. */
  confirmed: boolean;
  block: bigint | null;
  createdAt: Date;
  /** The same in Unix microseconds. */
  createdMicros: bigint;
  updatedAt: Date;
}

/** Requests that are read under one name. */
export interface Family<R extends ChainRequest> {
  /** In answers: `no such deployment of this account`. */
  name: string;
  /** Absent: every kind. */
  kinds?: readonly R["kind"][];
}

type RequestKey =
  /** Also the id of an earlier try: the newest one is returned. */
  | { id: string }
  /** Any hash that was signed for it. @throws as `findChain`. */
  | { chain: string; hash: string }
  /** The confirmed one. */
  | { chain: Chain; contract: Address };

/**
 * A request of the caller's account.
 *
 * @throws ServiceError `not_found`, also for another account's request; `value_error` for an invalid hash.
 */
export async function getRequest<R extends ChainRequest>(
  services: Services,
  caller: Caller,
  family: Family<R>,
  key: RequestKey,
): Promise<R> {
  const found = await findRequest(services, caller, family, key);
  if (found) return found;
  throw new ServiceError("not_found", `no such ${family.name} of this account`);
}

/** As `getRequest`. @returns null when there is none, and for another account's request. */
export async function findRequest<R extends ChainRequest>(
  services: Services,
  caller: Caller,
  family: Family<R>,
  key: RequestKey,
): Promise<R | null> {
  if ("id" in key && !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(key.id)) return null;
  if ("hash" in key && !/^0x[0-9a-f]{64}$/i.test(key.hash))
    throw new ServiceError("value_error", "a transaction hash is 0x and 64 hex digits", { field: "transaction_hash" });
  const base = selectRequests(services.db, family.kinds).where("i.tenant_id", "=", caller.accountId);
  const row = await ("contract" in key
    ? base
        .where("i.chain_id", "=", key.chain.id)
        .where("i.predicted_addr", "=", toBytes(key.contract))
        .where("i.state", "in", confirmedStates)
    : base.where("i.root_id", "in", rootsOf(services, key))
  )
    // A hash that several mints share returns the lead, which has the nonce.
    .orderBy("i.batch_lead", (order) => order.asc().nullsFirst())
    .orderBy("i.retry_number", "desc")
    .limit(1)
    .executeTakeFirst();
  return row ? toRequest<R>(services, row) : null;
}

/** A transaction recovered at a nonce belongs to the request whose intent id it has, not to the one with the nonce. */
function rootsOf(services: Services, key: Exclude<RequestKey, { contract: Address }>) {
  if ("id" in key) return sql<string>`(SELECT root_id FROM service.intent WHERE id = ${key.id})`;
  const chain = findChain(services.chains, key.chain);
  const hash = toBytes(key.hash as Hash);
  return sql<string>`(
    SELECT CASE WHEN s.intent_id IS NULL OR (s.state = 'external' AND a.kind = 'imported') THEN s.found_root
      ELSE signed.root_id END
    FROM service.attempt a JOIN service.nonce_reservation s USING (chain_id, addr, nonce)
      LEFT JOIN service.intent signed ON signed.id = s.intent_id
    WHERE a.hash = ${hash} AND a.chain_id = ${chain.id}
    UNION ALL
    SELECT f.root_id FROM service.intent f WHERE f.found_tx = ${hash} AND f.chain_id = ${chain.id})`;
}

/** The payload of the account's deployment that created the contract at an address; undefined: there is none. */
export async function findDeploymentAt(
  { db }: Services,
  caller: Caller,
  kind: "deploy" | "contract",
  chain: Chain,
  address: Address,
) {
  return await db
    .selectFrom("service.intent")
    .select(["payload", "factory", "template", "owner"])
    .where("chain_id", "=", chain.id)
    .where("predicted_addr", "=", toBytes(address))
    .where("tenant_id", "=", caller.accountId)
    // A literal, so that the planner can use the index of contracts without their mints.
    .where("kind", "=", sql.lit(kind))
    .where("state", "in", confirmedStates)
    .executeTakeFirst();
}

/** A request that was created a moment ago, by its own id; simultaneous calls share the query. */
export async function getFreshRequest<R extends ChainRequest>(
  services: Services,
  caller: Caller,
  family: Family<R>,
  id: string,
): Promise<R> {
  const row = await readTogether(services, caller.accountId, { tenantId: caller.accountId, id });
  return row ? toRequest<R>(services, row) : await getRequest(services, caller, family, { id });
}

const readTogether = batched(
  async ({ db }: Services, wanted: readonly { tenantId: string; id: string }[]) => {
    const rows = await selectRequests(db)
      .where("i.tenant_id", "in", [...new Set(wanted.map(({ tenantId }) => tenantId))])
      .where(
        "i.id",
        "in",
        wanted.map(({ id }) => id),
      )
      // For a retried request the answer is its retry.
      .where("i.state", "<>", "retried")
      .execute();
    const byId = new Map(rows.map((row) => [row.id, row] as const));
    return wanted.map(({ id }) => byId.get(id));
  },
  { most: 32, retryIndividually: false },
);

interface ListInput<R extends ChainRequest> {
  /** Absent: all of the family's. */
  kinds?: readonly R["kind"][] | undefined;
  /** Absent: every contract. */
  of?: { chain: Chain; contract: Address } | undefined;
  /** 1 to 100. */
  first: number;
  /** Cursor of the last item of the previous page. */
  after?: string | undefined;
}

/**
 * The caller's requests, newest first.
 *
 * @throws ServiceError `value_error` for a page size out of range, `invalid_continuation_string`.
 */
export async function listRequests<R extends ChainRequest>(
  services: Services,
  caller: Caller,
  family: Family<R>,
  { kinds = family.kinds, of, first, after }: ListInput<R>,
): Promise<Page<R>> {
  if (!(Number.isInteger(first) && first >= 1 && first <= 100))
    throw new ServiceError("value_error", "first must be 1 to 100", { field: "first" });
  let query = newestRequests(services, caller, kinds).limit(first + 1);
  if (of) query = query.where("i.chain_id", "=", of.chain.id).where("i.predicted_addr", "=", toBytes(of.contract));
  if (after !== undefined) {
    const id = decodeCursor(after);
    query = query.where(
      sql<boolean>`(i.created_at, i.id) < (SELECT p.created_at, p.id FROM service.intent p
        WHERE p.id = ${id} AND p.tenant_id = ${caller.accountId})`,
    );
  }
  const rows = await query.execute();
  const items = rows
    .slice(0, first)
    .map((row) => ({ cursor: encodeCursor(row.id), node: toRequest<R>(services, row) }));
  const hasNext = rows.length > first;
  return {
    items,
    hasNext,
    hasPrevious: after !== undefined,
    continuation: hasNext ? (items.at(-1)?.cursor ?? null) : null,
  };
}

/**
 * A request of the caller's account, now and after each change, until it has ended, half an hour has passed, or the
 * consumer stops listening.
 *
 * @throws ServiceError `not_found`; with too many streams, as `StreamPermits`.
 */
export async function watchRequest<R extends ChainRequest>(
  services: Services,
  caller: Caller,
  family: Family<R>,
  id: string,
): Promise<AsyncGenerator<R, void>> {
  const read = () => getRequest(services, caller, family, { id });
  const first = await read();
  const ended: readonly IntentState[] = endedStates;
  const watching = {
    pollMs: 300,
    isSame: (one: R, other: R) =>
      one.state === other.state && one.holdReason === other.holdReason && one.transactionHash === other.transactionHash,
    isLast: ({ state }: R) => ended.includes(state),
  };
  return watchChanges(first, read, watching, services.auth.streams.take(caller.accountId));
}

/**
 * Cancels a request while the chain has not decided.
 *
 * @returns its current state: `cancelled`, or on its way there.
 * @throws ServiceError `not_found`; `value_error` when it is too late.
 */
export async function cancelRequest<R extends ChainRequest>(
  services: Services,
  caller: Caller,
  family: Family<R>,
  id: string,
): Promise<R> {
  const newest = await getRequest(services, caller, family, { id });
  await cancelIntent(services, caller.accountId, newest.id);
  return await getRequest(services, caller, family, { id });
}

/** Requests of alias `i` with their nonce (`s`) and the one hash to show. */
function selectRequests(db: Kysely<Database>, kinds?: readonly IntentKind[]) {
  const query = db
    .selectFrom("service.intent as i")
    // A member of a batch has its lead's transaction.
    .leftJoin("service.nonce_reservation as s", (join) =>
      join.on("s.intent_id", "=", sql<string>`CASE i.state WHEN 'batched' THEN i.batch_lead ELSE i.id END`),
    )
    .select(["i.id", "i.kind", "i.chain_id", "i.state", "i.hold_reason", "i.hold_detail", "i.payload"])
    .select(["i.predicted_addr", "i.created_at", "i.updated_at", "i.found_tx", "i.found_block", "s.mined_block"])
    .select(shownHash.as("hash"))
    .select(sql<bigint>`(extract(epoch FROM i.created_at) * 1000000)::bigint`.as("created_micros"));
  return kinds ? query.where("i.kind", "in", kinds) : query;
}

/** An account's requests on the chains being served, newest first. */
export function newestRequests(services: Services, caller: Caller, kinds?: readonly IntentKind[]) {
  return (
    selectRequests(services.db, kinds)
      .where("i.tenant_id", "=", caller.accountId)
      // It goes on as a retry.
      .where("i.state", "<>", "retried")
      .where("i.chain_id", "in", [...services.chains.map((chain) => chain.id), -1])
      .orderBy("i.created_at", "desc")
      .orderBy("i.id", "desc")
  );
}

type RequestRow = Awaited<ReturnType<ReturnType<typeof selectRequests>["executeTakeFirstOrThrow"]>>;

/** The caller guarantees that `row` is one of `R`'s kinds. @throws ServiceError `chain_not_supported`. */
export function toRequest<R extends ChainRequest>(services: Services, row: RequestRow): R {
  const chain = services.chains.find((candidate) => candidate.id === row.chain_id);
  if (!chain)
    throw new ServiceError("chain_not_supported", `the chain of this request (${row.chain_id}) is not served any more`);
  const hash = row.found_tx ?? row.hash;
  const failure = failures[row.state];
  const request: ChainRequest = {
    id: row.id,
    kind: row.kind,
    chain,
    state: row.state,
    holdReason: row.hold_reason,
    error: failure ? `${failure}${row.hold_detail ? `: ${row.hold_detail}` : ""}` : null,
    payload: row.payload,
    transactionHash: hash && toHash(hash),
    contract: toAddress(row.predicted_addr),
    confirmed: confirmedStates.includes(row.state),
    block: row.found_tx ? row.found_block : row.mined_block,
    createdAt: row.created_at,
    createdMicros: BigInt(row.created_micros),
    updatedAt: row.updated_at,
  };
  return request as R;
}

const failures: Partial<Record<IntentState, string>> = {
  failed_onchain: "the chain refused it for good",
  cancelled: "it was cancelled",
  expired: "it was not sent within its time",
};

function encodeCursor(id: string): string {
  return Buffer.from(id.replaceAll("-", ""), "hex").toString("base64url");
}

function decodeCursor(cursor: string): string {
  const hex = Buffer.from(cursor, "base64url").toString("hex");
  if (/^[A-Za-z0-9_-]{22}$/.test(cursor) && hex.length === 32)
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  throw new ServiceError("invalid_continuation_string", "not a cursor of this list", { field: "after" });
}
