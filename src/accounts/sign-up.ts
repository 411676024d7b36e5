import { randomUUID } from "node:crypto";
import { writeAudit } from "../auth/audit.ts";
import { newSpellings } from "../auth/key-format.ts";
import { createAccount } from "../auth/keys.ts";
import type { Tier } from "../db/tables/accounts.ts";
import { setTenant } from "../db/tenant.ts";
import { ServiceError } from "../errors.ts";
import type { Services } from "../services.ts";
import { tooFast } from "./admit.ts";

export interface SignUpInput {
  name: string;
  email?: string | undefined;
}

/** The only time the key can be seen. */
export interface SignedUp {
  accountId: string;
  tier: Tier;
  /** `mty_live_…` */
  key: string;
  /** The same key for clients that can only send a UUID. */
  legacyKey: string;
}

/** Of all addresses together: a farm of keys from many addresses ends here. */
const everybody = { perSecond: 500 / 3600, burst: 500 };

/**
 * Opens a free account with its first key.
 *
 * @param address of the client, whose sign-ups are counted; null is counted with everybody only.
 * @throws ServiceError `sign_up_closed`, `value_error`, `rate_limit_exceeded`.
 */
export async function signUp(
  services: Services,
  input: SignUpInput,
  request: { address: string | null; requestId: string },
): Promise<SignedUp> {
  const { signUpsPerHour } = services.config;
  if (signUpsPerHour === 0) throw new ServiceError("sign_up_closed", "accounts are made by the operator here");
  const account = { name: checkName(input.name, "name"), email: checkEmail(input.email), tier: "free" as const };
  const own = { perSecond: signUpsPerHour / 3600, burst: signUpsPerHour };
  for (const [bucket, budget] of [[`signup:${request.address ?? "?"}`, own] as const, ["signup", everybody] as const]) {
    const { allowed, retryAfterSeconds } = await services.auth.limiter.take(bucket, budget);
    if (!allowed) throw tooFast(retryAfterSeconds, "accounts were opened from here a moment ago");
  }
  const { secret, uuid } = newSpellings();
  const id = randomUUID();
  setTenant(id);
  const accountId = await createAccount(
    services.db,
    services.config.keyPepper,
    { ...account, id, key: uuid, secret },
    (transaction, id) =>
      writeAudit(transaction, {
        actor: `account:${id}`,
        requestId: request.requestId,
        action: "sign_up",
        object: `account:${id}`,
        after: { tier: account.tier },
      }),
  );
  return { accountId, tier: account.tier, key: secret, legacyKey: uuid };
}

/** A name that people read: no control characters, no lone surrogates, which the database would refuse. */
export function checkName(text: string, field: string): string {
  const name = text.trim();
  if (name.length >= 1 && name.length <= 100 && name.isWellFormed() && !/\p{Cc}/u.test(name)) return name;
  throw new ServiceError("value_error", `${field} must be 1 to 100 characters on one line`, { field });
}

function checkEmail(text: string | undefined): string | null {
  const email = text?.trim();
  if (!email) return null;
  if (email.length <= 254 && /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u.test(email) && email.isWellFormed()) return email;
  throw new ServiceError("value_error", "email is not an e-mail address", { field: "email" });
}
