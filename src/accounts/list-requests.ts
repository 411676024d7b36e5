import { sql } from "kysely";
import type { Session } from "../auth/caller.ts";
import { toHex } from "../db/bytes.ts";
import { openCursor, sealCursor } from "../db/cursor.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";

export interface RequestFilter {
  /** Only those answered with an error. */
  failed: boolean;
  /** Id of the key they were sent with. */
  key?: string | undefined;
  /** Part of the route, path, operation, fields, error code or request id, in any letter case. */
  search?: string | undefined;
  /** The cursor of the previous page. */
  before?: string | undefined;
}

/** The stored facts of a request, without anything from its body or headers. */
interface Kept {
  at: Date;
  method: string;
  /** Its route template: `/v0/nfts/{contract_address}`. */
  route: string;
  /** The requested path, with `…` for parts that are not stored. */
  path: string;
  /** GraphQL: the operation's kind and name, and its root fields. */
  operation: string | null;
  fields: string | null;
  status: number;
  code: string | null;
  ms: number;
  /** Requests of the account before this one that are not in the log, because they came too fast. */
  skipped: number;
}

/** A request of the last 24 hours. */
export interface ListedRequest extends Kept {
  id: string;
  requestId: string;
  /** The key that was used; null: a browser session. */
  key: { id: string; name: string } | null;
  /** The wallet of a session, if the session is still stored: 0x and 40 hex digits. */
  wallet: string | null;
}

const pageSize = 50;
const keyId = /^key_[0-9a-f]{32}$/;
const maxSearch = 100;

/**
 * The requests of the caller's account in the last 24 hours, newest first.
 *
 * @returns a page of 50, with `before` for the next one; null: there is none.
 * @throws ServiceError `value_error` for a wrong key or search, `invalid_continuation_string`.
 */
export async function listRequests(
  { config, db }: Services,
  { accountId }: Session,
  { failed, key, search, before }: RequestFilter,
): Promise<{ requests: ListedRequest[]; before: string | null }> {
  if (key !== undefined && !keyId.test(key))
    throw new ServiceError("value_error", "key must be the id of a key: key_ and 32 hex digits", { field: "key" });
  if (search !== undefined && search.length > maxSearch)
    throw new ServiceError("value_error", `search must be at most ${maxSearch} characters`, { field: "search" });
  // No PostgreSQL text contains a NUL, so nothing can match it.
  const wanted = search?.replaceAll("\0", "\ufffd").toLowerCase() ?? "";
  const list = `requests ${accountId}`;
  const position = before === undefined ? null : readPosition(config.keyPepper, list, before);
  const { rows } = await sql<Row>`
    SELECT r.*, k.name, k.wallet FROM service.request_log r
    LEFT JOIN service.api_key k ON k.id = r.key_id AND k.account_id = r.account_id
    WHERE r.account_id = ${accountId} AND r.at > statement_timestamp() - interval '1 day'
      ${position ? sql`AND (r.at, r.id) < (${position.at}::timestamptz, ${position.id}::bigint)` : sql``}
      ${failed ? sql`AND (r.status >= 400 OR r.code IS NOT NULL)` : sql``}
      ${key === undefined ? sql`` : sql`AND r.key_id = ${key}`}
      ${
        wanted === ""
          ? sql``
          : sql`AND strpos(lower(concat_ws(E'\n', r.route, r.path, r.operation, r.fields, r.code, r.request_id)), ${wanted}) > 0`
      }
    ORDER BY r.at DESC, r.id DESC LIMIT ${pageSize + 1}`.execute(db);
  const shown = rows.slice(0, pageSize);
  const last = rows.length > pageSize ? shown.at(-1) : undefined;
  return { requests: shown.map(requestOfRow), before: last ? positionOf(config.keyPepper, list, last) : null };
}

interface Row extends Kept {
  id: bigint;
  key_id: string;
  request_id: string;
  name: string | null;
  wallet: Buffer | null;
}

function requestOfRow({ id, key_id, request_id, name, wallet, ...row }: Row): ListedRequest {
  const { at, method, route, path, operation, fields, status, code, ms, skipped } = row;
  return {
    ...{ id: String(id), at, method, route, path, operation, fields, status, code, ms, skipped, requestId: request_id },
    // Revoked keys stay in the table; sessions are removed when newer ones come.
    key: name === null || wallet ? null : { id: key_id, name },
    wallet: wallet && toHex(wallet),
  };
}

function positionOf(secret: string, list: string, { at, id }: Row): string {
  const position = Buffer.alloc(16);
  position.writeBigInt64BE(BigInt(at.getTime()), 0);
  position.writeBigInt64BE(id, 8);
  return sealCursor(secret, list, position);
}

function readPosition(secret: string, list: string, cursor: string): { at: Date; id: bigint } {
  try {
    const position = openCursor(secret, list, cursor, 16);
    return { at: new Date(Number(position.readBigInt64BE(0))), id: position.readBigInt64BE(8) };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const message = "before was not given out for this list; start again without it";
    throw new ServiceError("invalid_continuation_string", message, { field: "before" });
  }
}
