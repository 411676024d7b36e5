import { createHmac, timingSafeEqual } from "node:crypto";
import { sql } from "kysely";
import type { Address } from "viem";
import { writeAudit } from "../auth/audit.ts";
import { newSessionSecret, sessionPrefix } from "../auth/key-format.ts";
import { allScopes, insertKey } from "../auth/keys.ts";
import { toBytes, toHex } from "../db/bytes.ts";
import { setTenant } from "../db/tenancy/tenant.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import { revokeKey } from "./keys.ts";
import type { ProvenWallet } from "./wallet-accounts.ts";

/** A session as its page knows it. */
export interface SessionInfo {
  accountId: string;
  /** Lower case. */
  wallet: Address;
  /** Sent with each write, in `X-CSRF-Token`. */
  csrfToken: string;
  expiresAt: Date;
}

export interface OpenedSession extends SessionInfo {
  /** The cookie's value; visible only now. */
  secret: string;
  /** The account was created by this sign-in. */
  isNew: boolean;
}

/** Seconds. The end is fixed: using a session does not extend it. */
export const sessionSeconds = 86_400;
/** Sessions per account; a further one ends the oldest. */
const maxSessions = 20;

/** Opens a session. @throws ServiceError `account_suspended`. */
export async function openSession(
  services: Services,
  accountId: string,
  wallet: ProvenWallet,
  requestId: string,
): Promise<OpenedSession> {
  setTenant(accountId);
  const { keyPepper } = services.config;
  const secret = newSessionSecret();
  const expiresAt = await services.db.transaction().execute(async (transaction) => {
    // Concurrent sign-ins wait here, so that each sees the other's session.
    const account = await transaction
      .selectFrom("service.account")
      .select(["suspended", sql<Date>`clock_timestamp() + make_interval(secs => ${sessionSeconds})`.as("end")])
      .where("id", "=", accountId)
      .forNoKeyUpdate()
      .executeTakeFirst();
    if (!account || account.suspended)
      throw new ServiceError("account_suspended", "this account is suspended; ask the operator");
    const sessions = await transaction
      .selectFrom("service.api_key")
      .select("id")
      .where("account_id", "=", accountId)
      .where("wallet", "is not", null)
      .orderBy("created_at", "desc")
      .offset(maxSessions - 1)
      .execute();
    const old = sessions.map(({ id }) => id);
    if (old.length > 0) {
      await transaction.deleteFrom("service.key_secret").where("key_id", "in", old).execute();
      await transaction.deleteFrom("service.api_key").where("id", "in", old).execute();
    }
    const id = await insertKey(transaction, keyPepper, {
      accountId,
      name: "browser",
      scopes: allScopes,
      expiresAt: account.end,
      spellings: { session: secret },
      wallet: toBytes(wallet.address),
    });
    const actor = `account:${accountId}`;
    await writeAudit(transaction, { actor, requestId, action: "sign_in", object: `key:${id}`, after: wallet });
    return account.end;
  });
  const csrfToken = csrfTokenOf(keyPepper, secret);
  return { accountId, wallet: wallet.address, csrfToken, expiresAt, secret, isNew: false };
}

/**
 * The session, for a page that was reloaded.
 *
 * @param secret of the cookie.
 * @throws ServiceError `invalid_credentials` for a session that has ended, `account_suspended`.
 */
export async function getSession(services: Services, secret: string): Promise<SessionInfo & { keyId: string }> {
  const { accountId, tier, keyId } = await services.auth.keys.owner(secret);
  setTenant(accountId, tier);
  const row = await services.db
    .selectFrom("service.api_key")
    .select(["wallet", "expires_at"])
    .where("id", "=", keyId)
    .where("account_id", "=", accountId)
    .executeTakeFirst();
  if (!row?.wallet || !row.expires_at)
    throw new ServiceError("invalid_credentials", "this session has ended; sign in again");
  return {
    accountId,
    keyId,
    wallet: toHex(row.wallet) as Address,
    csrfToken: csrfTokenOf(services.config.keyPepper, secret),
    expiresAt: row.expires_at,
  };
}

/** Ends a session, in every process within a second. */
export async function endSession(services: Services, secret: string, requestId: string): Promise<void> {
  const owner = await services.auth.keys.owner(secret);
  setTenant(owner.accountId, owner.tier);
  await revokeKey(services, { ...owner, requestId }, owner.keyId);
}

/**
 * The CSRF token that our pages send with each write of a session. It is derived from the session, so nothing is
 * stored; a page of another site can neither read nor compute it.
 */
function csrfTokenOf(pepper: string, session: string): string {
  return createHmac("sha256", pepper).update(`csrf ${session}`).digest("base64url");
}

/** Whether a valid key is that of a browser session. */
export function isSessionSecret(key: string): boolean {
  return key.startsWith(sessionPrefix);
}

/** Whether a write with a session cookie comes from a page that knows the session's CSRF token. */
export function isWriteOfSession({ config }: Services, secret: string, csrfToken: string): boolean {
  const wanted = Buffer.from(csrfTokenOf(config.keyPepper, secret));
  const given = Buffer.from(csrfToken);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}
