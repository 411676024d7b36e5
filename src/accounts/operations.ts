import type { Scope } from "../db/tables/accounts.ts";

/** Which of an account's buckets a request takes from. */
export type Bucket = "read" | "upload" | "deploy";

/** What a request needs of its key: the one table that both doors ask. */
export interface Operation {
  scope: Scope;
  bucket: Bucket;
}

const read: Operation = { scope: "read", bucket: "read" };
const upload: Operation = { scope: "upload", bucket: "upload" };
const deploy: Operation = { scope: "deploy", bucket: "deploy" };
const admin: Operation = { scope: "admin", bucket: "deploy" };

/** Reads sent by POST, because they carry a file or a list. */
const readingPosts = /^\/v0\/(recommendations|duplicates)\//;

/** What a request of the REST door is. Paths are those of the whole server, `/v0/…`. */
export function operationOfRoute(method: string, path: string): Operation {
  if (/^\/v0\/me\/keys(\/|$)/.test(path)) return admin;
  if (method === "GET" || method === "HEAD" || readingPosts.test(path)) return read;
  if (/^\/v0\/(files|metadata)(\/|$)/.test(path)) return upload;
  return deploy;
}

const keyFields = new Set(["createKey", "rotateKey", "revokeKey", "keys"]);

/** What a root field of the GraphQL door is. A mutation nobody thought of needs the right to spend. */
export function operationOfField(kind: "query" | "mutation" | "subscription", field: string): Operation {
  if (keyFields.has(field)) return admin;
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
