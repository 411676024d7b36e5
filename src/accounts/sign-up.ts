import { randomUUID } from "node:crypto";
import ipaddr from "ipaddr.js";
import { writeAudit } from "../auth/audit.ts";
import { newSpellings } from "../auth/key-format.ts";
import { createAccount } from "../auth/keys.ts";
import { perDay } from "../auth/rate-limit.ts";
import type { Tier } from "../db/tables/accounts.ts";
import { setTenant } from "../db/tenancy/tenant.ts";
import { ServiceError } from "../errors/errors.ts";
import { type InputOf, text } from "../requests/fields.ts";
import type { Services } from "../services.ts";
import { tooFast } from "./admit.ts";

export const signUpFields = {
  name: text({ required: true, emptyIsText: true, doc: "The name of the account, 1 to 100 characters on one line." }),
  email: text({ doc: "An optional e-mail address, up to 254 characters." }),
};

/** The key is shown only here. */
export interface SignedUp {
  accountId: string;
  tier: Tier;
  /** `mty_live_…` */
  key: string;
  /** The same key for clients that can only send a UUID. */
  legacyKey: string;
}

/** One address block may open a twentieth of a day's accounts, so that a farm of accounts has to own many blocks. */
const blocksOfDay = 20;

/**
 * Opens a free account with its first key. Sign-ups are limited per address block (a single IPv6 client has billions of
 * addresses) and per day in total.
 *
 * @param address of the client; clients with an unknown address (null) share one block.
 * @throws ServiceError `sign_up_closed`, `storage_full`, `value_error`, `rate_limit_exceeded`.
 */
export async function signUp(
  services: Services,
  input: InputOf<typeof signUpFields>,
  request: { address: string | null; requestId: string },
): Promise<SignedUp> {
  requireOpen(services);
  const account = { name: checkName(input.name, "name"), email: checkEmail(input.email), tier: "free" as const };
  await admitSignUp(services, request.address);
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

function requireOpen({ config }: Services): void {
  if (config.signUpsPerHour === 0) throw new ServiceError("sign_up_closed", "accounts are made by the operator here");
}

/**
 * Admits one more sign-up of a client. Takes from all buckets or from none: a refusal by one leaves the others as they
 * were.
 *
 * @throws ServiceError `sign_up_closed`, `storage_full`, `rate_limit_exceeded`.
 */
export async function admitSignUp(services: Services, address: string | null): Promise<void> {
  requireOpen(services);
  await services.disk.requireRoom(true);
  const { auth, config } = services;
  const { signUpsPerHour, signUpsPerDay } = config;
  const block = addressBlock(address);
  const here = "accounts were opened from addresses like yours a moment ago";
  const buckets = [
    [`signup:${block}`, { perSecond: signUpsPerHour / 3600, burst: signUpsPerHour }, here],
    [`signup-day:${block}`, perDay(Math.max(Math.floor(signUpsPerDay / blocksOfDay), 2)), here],
    ["signup-day", perDay(signUpsPerDay), "this installation opens no more accounts today"],
  ] as const;
  for (const [index, [bucket, budget, why]] of buckets.entries()) {
    const { allowed, retryAfterSeconds } = await auth.limiter.take(bucket, budget);
    if (allowed) continue;
    for (const [taken, of] of buckets.slice(0, index)) await auth.limiter.giveBack(taken, of);
    throw tooFast(retryAfterSeconds, why);
  }
}

/** Checks a display name: no control characters, and no lone surrogates, which the database would refuse. */
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

/**
 * The address block attributed to one client: an IPv4 /24 or an IPv6 /48. An IPv4-mapped IPv6 address counts as IPv4.
 *
 * @param address from the socket or a trusted proxy; null: unknown.
 * @returns `192.0.2.0/24`, `2001:db8:1::/48`, or `?` for anything that is no address.
 */
export function addressBlock(address: string | null): string {
  if (address === null || !ipaddr.isValid(address)) return "?";
  const parsed = ipaddr.process(address);
  const bytes = parsed.toByteArray();
  const bits = parsed.kind() === "ipv4" ? 24 : 48;
  const network = ipaddr.fromByteArray(bytes.map((byte, index) => (index < bits / 8 ? byte : 0)));
  return `${network.toString()}/${bits}`;
}
