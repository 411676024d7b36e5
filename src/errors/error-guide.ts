import type { ErrorCode } from "./errors.ts";

export interface ErrorGuide {
  cause: string;
  fix: string;
}

const inputCause = "A member or parameter of the request is not what the operation takes.";

/** The texts of `/docs/errors/<code>` and of an error's `fix` member. */
const guides: Record<ErrorCode, ErrorGuide> = {
  authorization_missing: {
    cause: "The request has no Authorization header.",
    fix: "Send your API key in the header Authorization, without a scheme word.",
  },
  invalid_api_key: {
    cause: "What the Authorization header holds cannot be a key: a typing error, two keys, or a key in the URL.",
    fix: "Copy the key again; it begins with mty_ or is a UUID.",
  },
  invalid_credentials: {
    cause: "The key belongs to no account, was revoked, or has expired.",
    fix: "Use a key that works, or make one: POST /v0/signup, or POST /v0/me/keys with another key.",
  },
  account_suspended: { cause: "The operator has blocked this account.", fix: "Ask the operator." },
  plan_limit_exceeded: {
    cause: "The plan of your account does not include this, or what it includes is used up.",
    fix: "See GET /v0/me/settings for what is left; ask the operator for another plan.",
  },
  scope_missing: {
    cause: "The key is for other purposes: keys have the scopes read, upload, deploy, admin.",
    fix: "Use a key with the scope that the message names.",
  },
  csrf_token_invalid: {
    cause: "A browser's session came along with a request of another page, or with a token that is not its own.",
    fix: "Load the page again; programs send a key in the header Authorization instead of a cookie.",
  },
  sign_up_closed: { cause: "This installation opens no accounts by itself.", fix: "Ask the operator for a key." },
  invalid_address: {
    cause: inputCause,
    fix: "Send an address: 0x, then 40 hexadecimal digits. The message says if it must be a wallet.",
  },
  chain_not_supported: { cause: "This installation does not serve the chain.", fix: "Use a chain the message names." },
  invalid_date: { cause: inputCause, fix: "Write dates like 2026-01-31T12:00:00Z." },
  invalid_continuation_string: {
    cause: "A continuation or cursor belongs to one list and its filters.",
    fix: "Start the list again without one.",
  },
  value_error: {
    cause: inputCause,
    fix: "Change what the message names; with several faults `detail` lists each with its member.",
  },
  invalid_enumeration: { cause: inputCause, fix: "Use one of the words that the message lists." },
  parameter_missing: { cause: "Something that is required was not sent.", fix: "Send what the message names." },
  invalid_type: {
    cause: "A member has another JSON type than it should.",
    fix: "Send it in the type that the message names; /docs shows the members of each operation.",
  },
  metadata_frozen: {
    cause: "The collection's configuration was frozen; that cannot be undone.",
    fix: "Nothing about it can be changed any more.",
  },
  not_found: {
    cause: "There is nothing of this name, or it belongs to another account.",
    fix: "Check the path, the id, the chain, and whose key you use.",
  },
  transaction_pending: {
    cause: "The transaction is in no block yet, or in too few of them: the chain needs a number of confirmations.",
    fix: "Ask again in a few seconds; the message says how many confirmations it has, and about how long the rest takes.",
  },
  transaction_failed: {
    cause: "The chain refused the transaction for good, or it was not sent within its time.",
    fix: "Nothing was made or changed. The message says why; send the request again, with a new Idempotency-Key if it had one.",
  },
  method_not_allowed: { cause: "The path exists, but not with this method.", fix: "See /docs for the methods." },
  request_timeout: { cause: "The request came too slowly.", fix: "Send it again, over a better line." },
  file_too_large: { cause: "The body is over the limit.", fix: "Send less at once; /docs names the limits." },
  unsupported_media_type: { cause: "The body is of another kind.", fix: "Set Content-Type to what /docs says." },
  rate_limit_exceeded: {
    cause:
      "More requests, open streams, gas or time of the database than an account or address may have at once, in a minute or in a day.",
    fix: "Wait as long as Retry-After says, or close a stream; RateLimit-Remaining shows what is left.",
  },
  internal_error: {
    cause: "A fault of ours; nothing of it is shown on purpose.",
    fix: "Try again; give the operator the request id.",
  },
  not_implemented: { cause: "This operation is not built yet.", fix: "See /docs for what is." },
  service_unavailable: {
    cause:
      "The database, a chain's node, the signer or the storage does not answer, a paying wallet lacks funds, or the server or a spending limit is full.",
    fix: "Send the same request again after Retry-After seconds; nothing is done twice.",
  },
  storage_full: {
    cause: "The disk, the database or what free accounts may keep together is nearly full, so nothing more is kept.",
    fix: "Send the same request again later; the operator has to make room. Reads work meanwhile.",
  },
  webhook_unverified: {
    cause:
      "A new endpoint is sent nothing until it has answered a challenge, and this one has not, as often as it was asked.",
    fix: "See verificationTry of the endpoint for what it answered. Have it answer a webhook.verification message with data.challenge, then POST /v1/webhooks/{id}/verify or verifyWebhook.",
  },
  read_timeout: {
    cause:
      "The read took longer than reads may (2 s, a report 5 s, unless the operator set other times), and was ended: it asks for much, or the server is busy.",
    fix: "Ask for less at once: fewer trait conditions, a smaller page, a continuation instead of a deep page number.",
  },
  read_not_begun: {
    cause:
      "Reads that may touch many rows run few at once, free plans have some of the places, and this one waited too long for its turn (5 s, unless the operator set another time). Nothing of it was begun.",
    fix: "Send the same request again after Retry-After seconds, and fewer of its kind at once.",
  },
};

/** The fix for a product contract that is not the account's. */
export const unknownProductFix =
  "GET /v0/me/contracts lists the product contracts of your account, in GraphQL viewer { mints(all: true) { nodes { kind state contract } } }. Use one that is confirmed, with its chain, and the key of the account that deployed it.";

export function guideOf(code: ErrorCode): ErrorGuide {
  return guides[code];
}

/** The members of a failure that determine its fix. */
interface Failed {
  code: ErrorCode;
  field?: string | undefined;
  fix?: string | undefined;
}

/** What to do about a failure: its own fix; else the member to change, if a value is wrong; else its code's guide. */
export function fixFor({ code, field, fix }: Failed): string {
  if (fix !== undefined) return fix;
  if (code !== "value_error" || field === undefined || field === "") return guideOf(code).fix;
  return `Change ${field} as the message says, and send the request again.`;
}

export function hasOwnGuide(code: ErrorCode): boolean {
  return guides[code] !== undefined;
}
