import { hash } from "node:crypto";
import { type Kysely, sql } from "kysely";
import { LRUCache } from "lru-cache";
import { entryBound } from "../cache-bounds.ts";
import type { Database } from "../db/database.ts";
import type { PlanTable, Scope, Tier } from "../db/tables/accounts.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Session } from "./caller.ts";
import { keyDigest } from "./key-format.ts";
import { planOfRow } from "./plans.ts";

export const allScopes: readonly Scope[] = ["read", "upload", "deploy", "admin"];

/** The owner of a key, before the request that uses it has an id. */
export type KeyOwner = Omit<Session, "requestId"> & { suspended: boolean };

/** @returns null for an unknown, revoked or expired key: the caller cannot tell them apart. */
async function findKeyOwner(db: Kysely<Database>, digest: Buffer): Promise<KeyOwner | null> {
  const { rows } = await sql<{
    key_id: string;
    scopes: Scope[];
    account_id: string;
    tier: Tier;
    suspended: boolean;
    requests: bigint;
    plan: PlanTable;
  }>`SELECT * FROM service.session_of(${digest})`.execute(db);
  const [row] = rows;
  if (!row) return null;
  return {
    accountId: row.account_id,
    tier: row.tier,
    keyId: row.key_id,
    scopes: row.scopes,
    suspended: row.suspended,
    plan: planOfRow(row.plan),
    requestsThisMonth: Number(row.requests),
  };
}

/** How long an answer about a key is reused: in every process a revoked key works at most that much longer. */
const cachedMs = 800;
/** From this age the key is checked again in the background, so that no request waits for it. */
const renewedMs = 400;
const maxEntries = 20_000;

interface Entry {
  askedAt: number;
  owner: Promise<KeyOwner | null>;
  /** Whether the last answer was positive. */
  works: boolean;
  /** The answer itself, once it has arrived. */
  found: KeyOwner | null;
  renewing: boolean;
}

/** Keys that this process has seen lately; concurrent requests share one query per key. */
export class KeyCache {
  readonly #db: Kysely<Database>;
  readonly #pepper: string;
  readonly #entries = new LRUCache<string, Entry>(entryBound(maxEntries));

  constructor(db: Kysely<Database>, pepper: string) {
    this.#db = db;
    this.#pepper = pepper;
  }

  /** @throws ServiceError `invalid_credentials` for a key that does not work, `account_suspended`. */
  async owner(key: string): Promise<KeyOwner> {
    const owner = await this.#find(key);
    if (!owner) throw new ServiceError("invalid_credentials", "this API key belongs to no account");
    if (owner.suspended) throw new ServiceError("account_suspended", "this account is suspended; ask the operator");
    return owner;
  }

  /** The owner of a valid key, if known without waiting; null: use `owner`. */
  believed(key: string): KeyOwner | null {
    const name = nameOf(key);
    const known = this.#entries.get(name);
    if (!known?.found || known.found.suspended) return null;
    const age = performance.now() - known.askedAt;
    if (age >= cachedMs) return null;
    if (age >= renewedMs) this.#renew(name, key, known);
    return known.found;
  }

  /** Whether this key worked when it was last used here. */
  knows(key: string): boolean {
    return this.#entries.get(nameOf(key))?.works === true;
  }

  /** The owner of a key that worked when it was last used here; null: unknown or invalid. Authorizes nothing. */
  lastOwner(key: string): KeyOwner | null {
    const known = this.#entries.get(nameOf(key));
    return known?.works ? known.found : null;
  }

  #find(key: string): Promise<KeyOwner | null> {
    const name = nameOf(key);
    const known = this.#entries.get(name);
    // Measured from before the query: it may miss a key that was revoked while it ran.
    const age = known ? performance.now() - known.askedAt : Number.POSITIVE_INFINITY;
    if (!known || age >= cachedMs) {
      const entry = this.#ask(key, known?.works ?? false);
      this.#keep(name, entry);
      return entry.owner;
    }
    if (age >= renewedMs && known.works) this.#renew(name, key, known);
    return known.owner;
  }

  #renew(name: string, key: string, known: Entry): void {
    if (known.renewing) return;
    known.renewing = true;
    const entry = this.#ask(key, true);
    entry.owner.then(
      () => this.#keep(name, entry),
      () => {
        known.renewing = false;
      },
    );
  }

  #ask(key: string, works: boolean): Entry {
    const askedAt = performance.now();
    const owner = findKeyOwner(this.#db, keyDigest(this.#pepper, key));
    const entry: Entry = { askedAt, owner, works, found: null, renewing: false };
    owner.then(
      (found) => {
        entry.works = found !== null;
        entry.found = found;
      },
      // A failed query is not cached.
      () => {
        entry.askedAt = Number.NEGATIVE_INFINITY;
      },
    );
    return entry;
  }

  #keep(name: string, entry: Entry): void {
    // A later query may have been answered first.
    const other = this.#entries.get(name);
    if (other && other.askedAt > entry.askedAt) return;
    this.#entries.set(name, entry);
  }
}

/** One hash instead of the two of an HMAC, for speed; it only identifies an entry in this process's memory. */
function nameOf(key: string): string {
  return hash("sha256", key, "base64");
}

export interface NewKey {
  accountId: string;
  name: string;
  scopes: readonly Scope[];
  expiresAt?: Date | null;
  /** In canonical form; the key has only the spellings that are given. */
  spellings: { secret?: string; uuid?: string; session?: string };
  /** For a session: the wallet that signed in, 20 bytes. */
  wallet?: Buffer;
}

/** Stores a key as the digests of its spellings. @returns its public id. */
export async function insertKey(db: Kysely<Database>, pepper: string, key: NewKey): Promise<string> {
  const { id } = await db
    .insertInto("service.api_key")
    .values({
      account_id: key.accountId,
      name: key.name,
      scopes: [...key.scopes],
      expires_at: key.expiresAt ?? null,
      revoked_at: null,
      last_used_at: null,
      ...(key.wallet ? { wallet: key.wallet } : {}),
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  for (const kind of ["secret", "uuid", "session"] as const) {
    const spelling = key.spellings[kind];
    if (spelling === undefined) continue;
    const digest = keyDigest(pepper, spelling);
    await db
      .insertInto("service.key_secret")
      .values({ digest, account_id: key.accountId, key_id: id, kind, revoked_at: null })
      .execute();
  }
  return id;
}

/** The account that owns an embedded installation's uploads and deployments, whatever its current key is. */
const devAccountId = "00000000-0000-4000-8000-000000000001";

/** Creates the embedded installation's account, once, and makes `key` its key in place of those of earlier starts. */
export async function ensureDevAccount(db: Kysely<Database>, pepper: string, key: string): Promise<void> {
  const digest = keyDigest(pepper, key.toLowerCase());
  await db.transaction().execute(async (transaction) => {
    await transaction
      .insertInto("service.account")
      .values({ id: devAccountId, name: "embedded", email: null, tier: "enterprise" })
      .onConflict((conflict) => conflict.column("id").doNothing())
      .execute();
    // Processes that start at the same time must not both insert the key.
    await transaction
      .selectFrom("service.account")
      .select("id")
      .where("id", "=", devAccountId)
      .forNoKeyUpdate()
      .execute();
    await transaction
      .updateTable("service.key_secret")
      .set({ revoked_at: sql<Date>`clock_timestamp()` })
      // Keys that were created by hand for this account stay; those of earlier starts are ended.
      .where("key_id", "in", (query) =>
        query
          .selectFrom("service.api_key")
          .select("id")
          .where("account_id", "=", devAccountId)
          .where("name", "in", ["embedded", "first"]),
      )
      .where("digest", "!=", digest)
      .where("revoked_at", "is", null)
      .execute();
    const known = await transaction
      .updateTable("service.key_secret")
      .set({ revoked_at: null })
      .where("digest", "=", digest)
      .returning("key_id")
      .executeTakeFirst();
    if (known)
      await transaction
        .updateTable("service.api_key")
        .set({ revoked_at: null })
        .where("id", "=", known.key_id)
        .execute();
    else
      await insertKey(transaction, pepper, {
        accountId: devAccountId,
        name: "embedded",
        scopes: allScopes,
        spellings: { uuid: key.toLowerCase() },
      });
  });
}

/** Creates an account with its first key, if one is given, and what `alongside` adds, in one transaction. */
export async function createAccount(
  db: Kysely<Database>,
  pepper: string,
  account: { id?: string; name: string; tier: Tier; key?: string; email?: string | null; secret?: string },
  alongside?: (transaction: Kysely<Database>, id: string) => Promise<void>,
): Promise<string> {
  return await db.transaction().execute(async (transaction) => {
    const { id } = await transaction
      .insertInto("service.account")
      .values({
        ...(account.id === undefined ? {} : { id: account.id }),
        name: account.name,
        email: account.email ?? null,
        tier: account.tier,
      })
      .returning("id")
      .executeTakeFirstOrThrow();
    const { secret, key } = account;
    if (key !== undefined)
      await insertKey(transaction, pepper, {
        accountId: id,
        name: "first",
        scopes: allScopes,
        spellings: { uuid: key.toLowerCase(), ...(secret === undefined ? {} : { secret }) },
      });
    await alongside?.(transaction, id);
    return id;
  });
}
