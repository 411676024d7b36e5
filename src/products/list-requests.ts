import { sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { findChain } from "../chains.ts";
import type { IntentKind } from "../db/tables/relay.ts";
import { ServiceError } from "../errors/errors.ts";
import type { OperationToken } from "../relay/store/operation-payload.ts";
import type { Services } from "../services.ts";
import { type ProductRequest, selectRequests, toRequest } from "./get-request.ts";

export interface ListRequestsInput {
  /** Absent: all that the operator carries out. */
  kinds?: readonly IntentKind[] | undefined;
  /** 1 to 100. */
  first: number;
  /** Cursor of the last one of the page before. */
  after?: string | undefined;
}

export interface RequestPage {
  requests: { cursor: string; request: ProductRequest }[];
  hasNextPage: boolean;
}

/**
 * The caller's requests, newest first.
 *
 * @throws ServiceError `value_error` for a page size out of range, `invalid_continuation_string`.
 */
export async function listRequests(services: Services, caller: Caller, input: ListRequestsInput): Promise<RequestPage> {
  if (!(Number.isInteger(input.first) && input.first >= 1 && input.first <= 100))
    throw new ServiceError("value_error", "first must be 1 to 100", { field: "first" });
  let query = newest(services, caller, input.kinds).limit(input.first + 1);
  if (input.after !== undefined) {
    const id = decodeCursor(input.after);
    query = query.where(
      sql<boolean>`(i.created_at, i.id) < (SELECT p.created_at, p.id FROM service.intent p
        WHERE p.id = ${id} AND p.tenant_id = ${caller.accountId})`,
    );
  }
  const rows = await query.execute();
  return {
    requests: rows
      .slice(0, input.first)
      .map((row) => ({ cursor: encodeCursor(row.id), request: toRequest(services, row) })),
    hasNextPage: rows.length > input.first,
  };
}

export interface MintPage {
  /** Each token that a mint made, of a batch in its order. */
  nfts: { mint: ProductRequest; token: OperationToken }[];
  /** Of all pages. */
  total: number;
}

/** A page by number is found by counting: so many tokens at most. */
const mostSkipped = 10_000;
const unsigned = ["queued", "held", "assigned", "cancelled", "expired", "failed_onchain"] as const;

/**
 * One page of the tokens that the caller's mints made or are making, newest first, as old clients ask for them: by number.
 *
 * @param input `chain` as sent; absent: all. `pageNumber` from 1.
 * @throws ServiceError `value_error` for a page too far from the newest mint.
 */
export async function listMints(
  services: Services,
  caller: Caller,
  input: { chain?: string | undefined; pageNumber?: number | undefined; pageSize: number },
): Promise<MintPage> {
  const skipped = ((input.pageNumber ?? 1) - 1) * input.pageSize;
  if (skipped > mostSkipped)
    throw new ServiceError("value_error", `pages reach ${mostSkipped} tokens back`, { field: "page_number" });
  const chain = input.chain === undefined ? null : findChain(services.chains, input.chain);
  const chains = chain ? [chain.id] : services.chains.map(({ id }) => id);
  const tokens = sql<{
    token: OperationToken;
    at: bigint;
  }>`LATERAL jsonb_array_elements(i.payload -> 'tokens') WITH ORDINALITY`;
  const [rows, { total }] = await Promise.all([
    newest(services, caller, ["mint"])
      .innerJoin(tokens.as<"t">(sql`t (token, at)`), (join) => join.onTrue())
      .select("t.token")
      .where("i.chain_id", "in", [...chains, -1])
      .where("i.state", "not in", [...unsigned])
      .orderBy("t.at")
      .limit(input.pageSize)
      .offset(skipped)
      .execute(),
    services.db
      .selectFrom("service.intent as i")
      .select(sql<bigint>`coalesce(sum(jsonb_array_length(i.payload -> 'tokens')), 0)::bigint`.as("total"))
      .where("i.tenant_id", "=", caller.accountId)
      .where("i.kind", "=", "mint")
      .where("i.chain_id", "in", [...chains, -1])
      .where("i.state", "not in", [...unsigned, "retried"])
      .executeTakeFirstOrThrow(),
  ]);
  return { nfts: rows.map((row) => ({ mint: toRequest(services, row), token: row.token })), total: Number(total) };
}

function newest(services: Services, caller: Caller, kinds?: readonly IntentKind[]) {
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

function encodeCursor(id: string): string {
  return Buffer.from(id.replaceAll("-", ""), "hex").toString("base64url");
}

function decodeCursor(cursor: string): string {
  const hex = Buffer.from(cursor, "base64url").toString("hex");
  if (/^[A-Za-z0-9_-]{22}$/.test(cursor) && hex.length === 32)
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  throw new ServiceError("invalid_continuation_string", "not a cursor of this list", { field: "after" });
}
