import { createHmac } from "node:crypto";
import { type Kysely, sql } from "kysely";
import type { Database } from "../db/database.ts";
import type { Tier } from "../db/tables/accounts.ts";
import { ServiceError } from "../errors.ts";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const nil = "00000000-0000-0000-0000-000000000000";
const maxKeyLength = 128;

export interface KeyOwner {
  accountId: string;
  tier: Tier;
}

/**
 * Reads the key out of the values of an `Authorization` header: one value, the raw key or `Bearer <key>`.
 *
 * @throws ServiceError `authorization_missing` without a header, `invalid_api_key` for two headers or
 *   anything that is not shaped like a key. The database is not asked.
 */
export function parseAuthorization(values: readonly string[]): string {
  const given = values.map((value) => value.trim()).filter(Boolean);
  if (given.length === 0) {
    throw new ServiceError("authorization_missing", "send your API key in the Authorization header");
  }
  const key = (given[0] ?? "").replace(/^Bearer\s+/i, "").toLowerCase();
  if (given.length > 1 || key.length > maxKeyLength || !uuid.test(key) || key === nil) {
    throw new ServiceError(
      "invalid_api_key",
      "the Authorization header must hold one API key: a UUID, without a scheme",
    );
  }
  return key;
}

/**
 * Finds the account of a key.
 *
 * @throws ServiceError `invalid_credentials` for a key of no account or a revoked one, `account_suspended`.
 */
export async function findKeyOwner(db: Kysely<Database>, pepper: string, key: string): Promise<KeyOwner> {
  const row = await db
    .selectFrom("service.key_secret as k")
    .innerJoin("service.account as a", "a.id", "k.account_id")
    .select(["a.id", "a.tier", "a.suspended"])
    .where("k.digest", "=", keyDigest(pepper, key))
    .where("k.revoked_at", "is", null)
    .executeTakeFirst();
  if (!row) throw new ServiceError("invalid_credentials", "this API key belongs to no account");
  if (row.suspended) throw new ServiceError("account_suspended", "this account is suspended; ask the operator");
  return { accountId: row.id, tier: row.tier };
}

/** Whose the uploads and deployments of an embedded installation are, whatever its key is today. */
const devAccountId = "00000000-0000-4000-8000-000000000001";

/** Makes the embedded installation's account, once, and `key` its one valid key. */
export async function ensureDevAccount(db: Kysely<Database>, pepper: string, key: string): Promise<void> {
  const digest = keyDigest(pepper, key);
  await db.transaction().execute(async (transaction) => {
    await transaction
      .insertInto("service.account")
      .values({ id: devAccountId, name: "embedded", email: null, tier: "enterprise" })
      .onConflict((conflict) => conflict.column("id").doNothing())
      .execute();
    await transaction
      .updateTable("service.key_secret")
      .set({ revoked_at: sql<Date>`clock_timestamp()` })
      .where("account_id", "=", devAccountId)
      .where("digest", "!=", digest)
      .where("revoked_at", "is", null)
      .execute();
    await transaction
      .insertInto("service.key_secret")
      .values({ digest, account_id: devAccountId, kind: "uuid", revoked_at: null })
      .onConflict((conflict) => conflict.column("digest").doUpdateSet({ revoked_at: null }))
      .execute();
  });
}

/** Creates an account with its first key, both or neither. */
export async function createAccount(
  db: Kysely<Database>,
  pepper: string,
  account: { name: string; tier: Tier; key: string },
): Promise<string> {
  return await db.transaction().execute(async (transaction) => {
    const { id } = await transaction
      .insertInto("service.account")
      .values({ name: account.name, email: null, tier: account.tier })
      .returning("id")
      .executeTakeFirstOrThrow();
    await transaction
      .insertInto("service.key_secret")
      .values({ digest: keyDigest(pepper, account.key), account_id: id, kind: "uuid", revoked_at: null })
      .execute();
    return id;
  });
}

/** HMAC, not a slow hash: keys are random, so there is nothing to guess and no load to lend to an attacker. */
function keyDigest(pepper: string, key: string): Buffer {
  return createHmac("sha256", pepper).update(key.toLowerCase()).digest();
}
