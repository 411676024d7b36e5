import { type Selectable, sql, type Transaction } from "kysely";
import type { Address } from "viem";
import { writeAudit } from "../auth/audit.ts";
import type { Session } from "../auth/caller.ts";
import { newSpellings } from "../auth/key-format.ts";
import { insertKey } from "../auth/keys.ts";
import { toHex } from "../db/bytes.ts";
import type { Database } from "../db/database.ts";
import type { Scope } from "../db/tables/accounts.ts";
import { ServiceError } from "../errors/errors.ts";
import type { MembersOf } from "../requests/answer-members.ts";
import { date, type InputOf, int, text, words } from "../requests/fields.ts";
import type { Services } from "../services.ts";
import { checkName } from "./sign-up.ts";

/** A key of an account, without its secret spellings, which are shown only once. */
export interface ApiKey {
  id: string;
  name: string;
  scopes: readonly Scope[];
  createdAt: Date;
  expiresAt: Date | null;
  revokedAt: Date | null;
  lastUsedAt: Date | null;
  wallet: Address | null;
}

/** All but `scopes`. */
export const keyMembers: MembersOf<Omit<ApiKey, "scopes">> = {
  id: { kind: "id", doc: "The id of the key: `key_` and 32 hex digits. It is not a secret." },
  name: { kind: "text", doc: "The name of the key." },
  createdAt: { kind: "date", doc: "When the key was created." },
  expiresAt: { kind: "date", nullable: true, doc: "When the key expires. Null if it never expires." },
  revokedAt: { kind: "date", nullable: true, doc: "When the key was revoked. Null if it was not." },
  lastUsedAt: {
    kind: "date",
    nullable: true,
    doc: "When the key was last used, to about a second. Null if it was never used.",
  },
  wallet: {
    kind: "address",
    nullable: true,
    doc: "For a browser session, the wallet that signed in, in lower case. Null for a key.",
  },
};

export interface CreatedKey {
  apiKey: ApiKey;
  /** `mty_live_…`, shown only now. */
  key: string;
  /** The same key for clients that can only send a UUID. */
  legacyKey: string;
}

/** What a key may be used for. */
export const scopeWords: Readonly<Record<Scope, string>> = {
  read: "Read data, stream events, and refresh metadata.",
  upload: "Upload to IPFS.",
  deploy: "Deploy, update, mint, burn and transfer.",
  admin: "Manage the account's keys and webhooks.",
};
const overlap = { default: 86_400, max: 30 * 86_400 };

export const createKeyFields = {
  name: text({ required: true, emptyIsText: true, doc: "A display name, 1 to 100 characters on one line." }),
  scopes: words(scopeWords, {
    ...{ required: "graphql", default: ["read"] },
    doc: "The scopes of the new key, read by default. A key can only grant scopes that it has itself.",
  }),
  expiresAt: date({ doc: "When the key expires. If omitted, it never expires." }),
};
export const rotateKeyFields = {
  overlapSeconds: int({
    ...overlap,
    doc: "How long the old key keeps working, in seconds: 0 to 2592000 (30 days), one day by default.",
  }),
};

const keyId = /^key_[0-9a-f]{32}$/;
const maxLiveKeys = 100;
const works = sql<boolean>`revoked_at IS NULL AND (expires_at IS NULL OR expires_at > clock_timestamp())`;

/** The keys of the caller's account, oldest first, revoked ones too. */
export async function listKeys(services: Services, caller: Session): Promise<ApiKey[]> {
  const rows = await services.db
    .selectFrom("service.api_key")
    .selectAll()
    .where("account_id", "=", caller.accountId)
    .orderBy("created_at")
    .orderBy("id")
    .limit(1_000)
    .execute();
  return rows.map(keyOfRow);
}

/**
 * Creates a further key for the caller's account.
 *
 * @throws ServiceError `scope_missing` for a scope that the caller's key lacks, `value_error`.
 */
export async function createKey(
  services: Services,
  caller: Session,
  { scopes = ["read"], ...input }: InputOf<typeof createKeyFields>,
): Promise<CreatedKey> {
  const name = checkName(input.name, "name");
  if (scopes.length === 0) throw new ServiceError("value_error", "give at least one scope", { field: "scopes" });
  const beyond = scopes.filter((scope) => !caller.scopes.includes(scope));
  if (beyond.length > 0)
    throw new ServiceError("scope_missing", `this key cannot hand on ${beyond.join(", ")}`, { field: "scopes" });
  if (input.expiresAt && input.expiresAt.getTime() <= Date.now())
    throw new ServiceError("value_error", "expires_at lies in the past", { field: "expiresAt" });
  return await services.db
    .transaction()
    .execute((transaction) => addKey(transaction, services, caller, { ...input, name, scopes }, "create"));
}

/**
 * Replaces a key by a new one with the same name and scopes. The old one works for `overlapSeconds` more, so that every
 * client can be moved over first. One transaction: if the rotation is refused, the old key stays as it was.
 *
 * @param overlapSeconds 0 to 2,592,000 (30 days); default a day.
 * @throws ServiceError `not_found` for a key that is not the account's or no longer works, `value_error`,
 * `scope_missing` for a key with more scopes than the caller's, `plan_limit_exceeded` at the limit of keys.
 */
export async function rotateKey(
  services: Services,
  caller: Session,
  input: { id: string; overlapSeconds?: number | undefined },
): Promise<CreatedKey> {
  const seconds = input.overlapSeconds ?? overlap.default;
  if (!Number.isInteger(seconds) || seconds < 0 || seconds > overlap.max) {
    const want = `overlap_seconds must be 0 to ${overlap.max}`;
    throw new ServiceError("value_error", want, { field: "overlapSeconds" });
  }
  if (!keyId.test(input.id)) throw noKey();
  return await services.db.transaction().execute(async (transaction) => {
    const old = await transaction
      .selectFrom("service.api_key")
      .selectAll()
      .where("id", "=", input.id)
      .where("account_id", "=", caller.accountId)
      // Sessions cannot be rotated: the browser signs in again, and no client could be given their secret.
      .where("wallet", "is", null)
      .where(works)
      .forUpdate()
      .executeTakeFirst();
    if (!old) throw noKey();
    const beyond = old.scopes.filter((scope) => !caller.scopes.includes(scope));
    if (beyond.length > 0) throw new ServiceError("scope_missing", `this key cannot hand on ${beyond.join(", ")}`);
    await transaction
      .updateTable("service.api_key")
      // A key that would have expired earlier still does.
      .set({ expires_at: sql<Date>`least(expires_at, clock_timestamp() + make_interval(secs => ${seconds}))` })
      .where("id", "=", old.id)
      .execute();
    // If this is refused for the number of keys, the transaction rolls the old key's expiry back.
    return await addKey(transaction, services, caller, { name: old.name, scopes: old.scopes }, "rotate", old.id);
  });
}

/** Revokes a key, in every process within a second. Idempotent. @throws ServiceError `not_found`. */
export async function revokeKey(services: Services, caller: Session, id: string): Promise<ApiKey> {
  if (!keyId.test(id)) throw noKey();
  return await services.db.transaction().execute(async (transaction) => {
    const row = await transaction
      .updateTable("service.api_key")
      .set({ revoked_at: sql<Date>`coalesce(revoked_at, clock_timestamp())` })
      .where("id", "=", id)
      .where("account_id", "=", caller.accountId)
      .returningAll()
      .executeTakeFirst();
    if (!row) throw noKey();
    await writeAudit(transaction, { ...actorOf(caller), action: "revoke", object: `key:${id}` });
    return keyOfRow(row);
  });
}

async function addKey(
  transaction: Transaction<Database>,
  services: Services,
  caller: Session,
  input: Pick<ApiKey, "name" | "scopes"> & { expiresAt?: Date | undefined },
  action: string,
  replaces?: string,
): Promise<CreatedKey> {
  const { secret, uuid } = newSpellings();
  // Serializes concurrent creations: the second one counts after the first has inserted.
  await transaction
    .selectFrom("service.account")
    .select("id")
    .where("id", "=", caller.accountId)
    .forNoKeyUpdate()
    .executeTakeFirst();
  const live = await transaction
    .selectFrom("service.api_key")
    .select((query) => query.fn.countAll<bigint>().as("count"))
    .where("account_id", "=", caller.accountId)
    .where("wallet", "is", null)
    .where(works)
    .executeTakeFirstOrThrow();
  if (live.count >= BigInt(maxLiveKeys))
    throw new ServiceError("plan_limit_exceeded", `an account has at most ${maxLiveKeys} keys that work`);
  const id = await insertKey(transaction, services.config.keyPepper, {
    accountId: caller.accountId,
    name: input.name,
    scopes: [...new Set(input.scopes)],
    expiresAt: input.expiresAt ?? null,
    spellings: { secret, uuid },
  });
  await writeAudit(transaction, {
    ...actorOf(caller),
    action,
    object: `key:${id}`,
    ...(replaces ? { before: { key: replaces } } : {}),
    after: { scopes: input.scopes, expiresAt: input.expiresAt ?? null },
  });
  const row = await transaction
    .selectFrom("service.api_key")
    .selectAll()
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  return { apiKey: keyOfRow(row), key: secret, legacyKey: uuid };
}

function actorOf(caller: Session) {
  return { actor: `key:${caller.keyId}`, requestId: caller.requestId };
}

function noKey(): ServiceError {
  return new ServiceError("not_found", "no working key of this account has this id", { field: "id" });
}

function keyOfRow(row: Selectable<Database["service.api_key"]>): ApiKey {
  return {
    id: row.id,
    name: row.name,
    scopes: row.scopes,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
    wallet: row.wallet ? (toHex(row.wallet) as Address) : null,
  };
}
