import type { Bucket } from "../auth/plans.ts";
import type { Scope } from "../db/tables/accounts.ts";

/** What a request needs of its key. Both APIs use this one table. */
export interface Operation {
  scope: Scope;
  bucket: Bucket;
}

const read: Operation = { scope: "read", bucket: "read" };
const upload: Operation = { scope: "upload", bucket: "upload" };
const deploy: Operation = { scope: "deploy", bucket: "deploy" };
const admin: Operation = { scope: "admin", bucket: "deploy" };

/** Reads that are sent by POST, because they carry a file or a list. */
const readingPosts = /^\/v0\/(recommendations|duplicates)\//;

/** The operation of a REST request. Paths are those of the whole server, `/v0/…`. */
export function operationOfRoute(method: string, path: string): Operation {
  if (/^\/v0\/me\/keys(\/|$)/.test(path)) return admin;
  if (/^\/v1\/webhooks(\/|$)/.test(path) && method !== "GET") return admin;
  if (method === "GET" || method === "HEAD" || readingPosts.test(path)) return read;
  if (/^\/v0\/(files|metadata)(\/|$)/.test(path)) return upload;
  return deploy;
}

/** Rows that a page number may skip for the price of one request. */
const skippedForOne = 10_000;
const skippedForEachMore = 100_000;

/**
 * The cost of a REST read, in requests: by the rows its statement may touch.
 *
 * @param url path and query of the request.
 */
export function costOfRoute(url: string): number {
  const at = url.indexOf("?");
  const path = at < 0 ? url : url.slice(0, at);
  const own = /^\/v0\/(search|transactions\/stats|accounts\/contracts)(\/|$)/.test(path) ? 2 : 1;
  if (!url.includes("page_number")) return own;
  const query = new URLSearchParams(url.slice(at + 1));
  if (query.has("continuation")) return own;
  const skipped = (Number(query.get("page_number")) - 1) * Number(query.get("page_size") ?? 50);
  if (!(skipped > skippedForOne)) return own;
  // Deeper pages are refused anyway.
  return own + Math.ceil(Math.min(skipped, 1_000_000) / skippedForEachMore);
}

const keyFields = new Set(["createKey", "rotateKey", "revokeKey", "viewer.keys"]);

/** Webhooks receive the account's events, so managing them needs the scope admin. */
const webhookFields = /Webhook|^(sendTestEvent|replayEvents)$/;

/** @param field a root field, or `viewer.` and a field of `Viewer`. Unlisted mutations need the right to spend. */
export function operationOfField(kind: "query" | "mutation" | "subscription", field: string): Operation {
  if (keyFields.has(field) || (kind === "mutation" && webhookFields.test(field))) return admin;
  if (kind !== "mutation" || /^refresh/.test(field)) return read;
  return /^upload/.test(field) ? upload : deploy;
}

/** Root fields that need no key. */
export const openFields: ReadonlySet<string> = new Set([
  "status",
  "signUp",
  "eligibility",
  "__typename",
  "__schema",
  "__type",
]);

/** Subscriptions that need no key and read from a chain's node. Query fields of the same names do need a key. */
export const openSubscriptions: ReadonlySet<string> = new Set(["collection"]);

/**
 * Root fields that need no key and read the database or a chain's node. Each alias counts as a question, for a caller
 * without a key against its address.
 */
export const countedFields: ReadonlySet<string> = new Set(["status", "eligibility"]);
