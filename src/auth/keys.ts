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

/** What a digest opens, before the request that uses it has a name. */
export type KeyOwner = Omit<Session, "requestId"> & { suspended: boolean };

/** @returns null for a digest of no key, or of one that was revoked or has expired: all the same to the one who asks. */
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

/** How long an answer about a key is believed: a revoked key works that much longer at most, in every process. */
const cachedMs = 800;
/** From this age on the question is asked again while the answer still holds, so that no request waits for it. */
const renewedMs = 400;
const maxEntries = 20_000;

interface Entry {
  askedAt: number;
  owner: Promise<KeyOwner | null>;
  /** What the last answer was. */
  works: boolean;
  /** The answer itself, as soon as it is there. */
  found: KeyOwner | null;
  renewing: boolean;
}

/** Keys that this process has seen within the last second; one question at a time per key. */
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

  /** What is known of a key that works, without waiting; null: ask `owner`. */
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

  /** Whose a key is that worked when it was last used here; null: not known, or it did not. Opens nothing. */
  lastOwner(key: string): KeyOwner | null {
    const known = this.#entries.get(nameOf(key));
    return known?.works ? known.found : null;
  }

  #find(key: string): Promise<KeyOwner | null> {
    const name = nameOf(key);
    const known = this.#entries.get(name);
    // Counted from before the question: what was revoked while it ran may not have been seen.
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
      // A failure is not an answer.
      () => {
        entry.askedAt = Number.NEGATIVE_INFINITY;
      },
    );
    return entry;
  }

  #keep(name: string, entry: Entry): void {
    // A later question may have been answered first.
    const other = this.#entries.get(name);
    if (other && other.askedAt > entry.askedAt) return;
    this.#entries.set(name, entry);
  }
}

/** One pass instead of the two of an HMAC, for each request; it names an entry of this process's memory only. */
function nameOf(key: string): string {
  return hash("sha256", key, "base64");
}

export interface NewKey {
  accountId: string;
  name: string;
  scopes: readonly Scope[];
  expiresAt?: Date | null;
  /** Canonical; what is not given does not exist. */
  spellings: { secret?: string; uuid?: string; session?: string };
  /** Of a session: the wallet that signed in, 20 bytes. */
  wallet?: Buffer;
}

/** Stores a key by the digests of its spellings. @returns its public id. */
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

/** Whose the uploads and deployments of an embedded installation are, whatever its key is today. */
const devAccountId = "00000000-0000-4000-8000-000000000001";

/** Makes the embedded installation's account, once, and `key` its one valid key. */
export async function ensureDevAccount(db: Kysely<Database>, pepper: string, key: string): Promise<void> {
  const digest = keyDigest(pepper, key.toLowerCase());
  await db.transaction().execute(async (transaction) => {
    await transaction
      .insertInto("service.account")
      .values({ id: devAccountId, name: "embedded", email: null, tier: "enterprise" })
      .onConflict((conflict) => conflict.column("id").doNothing())
      .execute();
    // Two processes that start together must not both insert the key.
    await transaction
      .selectFrom("service.account")
      .select("id")
      .where("id", "=", devAccountId)
      .forNoKeyUpdate()
      .execute();
    await transaction
      .updateTable("service.key_secret")
      .set({ revoked_at: sql<Date>`clock_timestamp()` })
      // Keys that were made for this account by hand stay; what an earlier start made ends.
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

/** Creates an account with its first key, if one is given, and whatever belongs to the same transaction: all or nothing. */
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
