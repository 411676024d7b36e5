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

/** What an account asked the service's wallets to do: a deployment, an update, a mint; from the request to the chain. */
export interface ChainRequest<Kind extends IntentKind = IntentKind, Payload = unknown> {
  id: string;
  kind: Kind;
  chain: Chain;
  state: IntentState;
  /** Why it does not go on now. */
  holdReason: string | null;
  /** Why it failed, for people; null unless it did. */
  error: string | null;
  /** As it was accepted. */
  payload: Payload;
  /** Hash of the transaction that did it or was mined, else of the newest signed one; null before the signature. */
  transactionHash: Hash | null;
  /** The contract that it acts on, or that it deploys: then nothing may be sent there before it is confirmed. */
  contract: Address;
  /** It is on the chain, deep enough to be shown; false again after a deep reorganisation. */
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
  /** Absent: of every kind. */
  kinds?: readonly R["kind"][];
}

type RequestKey =
  /** Of an earlier try too: the newest one is meant. */
  | { id: string }
  /** Any hash that was signed for it. @throws as `findChain`. */
  | { chain: string; hash: string }
  /** The one that is confirmed. */
  | { chain: Chain; contract: Address };

/**
 * A request of the caller's account.
 *
 * @throws ServiceError `not_found`, also for somebody else's; `value_error` for what is no hash.
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

/** As `getRequest`. @returns null when there is none, and for somebody else's. */
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
    // A hash that several mints share names the one whose nonce it has.
    .orderBy("i.batch_lead", (order) => order.asc().nullsFirst())
    .orderBy("i.retry_number", "desc")
    .limit(1)
    .executeTakeFirst();
  return row ? toRequest<R>(services, row) : null;
}

/** What was found at a nonce is that of the request whose intent id it deployed, not of the one that has the nonce. */
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

/** What the deployment of the caller's account was accepted with that made the contract at an address; undefined: none did. */
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
    // Written out: only so the planner knows that the index of contracts without their mints has it.
    .where("kind", "=", sql.lit(kind))
    .where("state", "in", confirmedStates)
    .executeTakeFirst();
}

/** One that was made a moment ago, by its own id; requests that come together look together. */
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
      // One that goes on as a retry is answered by that.
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
  /** Absent: of every contract. */
  of?: { chain: Chain; contract: Address } | undefined;
  /** 1 to 100. */
  first: number;
  /** Cursor of the last one of the page before. */
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
 * A request of the caller's account, now and after each change, until it has ended, half an hour has passed, or nobody
 * listens any more.
 *
 * @throws ServiceError `not_found`; with too many streams what `StreamPermits` throws.
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
 * Takes a request back while the chain has not decided.
 *
 * @returns it as it stands now: `cancelled`, or on its way there.
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

/** Requests of alias `i` with the place in the wallet's queue (`s`) and the one hash to show. */
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

/** Those of an account on chains that are served, newest first. */
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
