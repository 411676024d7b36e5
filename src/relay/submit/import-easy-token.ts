import type { Kysely } from "kysely";
import { toBytes } from "../../db/bytes.ts";
import type { Database } from "../../db/database.ts";
import type { EasyToken } from "../chain/easy-token.ts";
import { type Intent, moveIntent } from "../store/intents.ts";
import { tokensOf } from "../store/operation-payload.ts";

/** What an easy mint's row has of a token. */
export function withEasyToken(intent: Intent, { tokenId, call }: EasyToken) {
  const payload = tokensOf(intent);
  const [token] = payload.tokens;
  return { payload: { ...payload, tokens: [{ ...token, tokenId }] }, init_data: toBytes(call) };
}

/**
 * Gives an easy mint the id that a transaction of it has: it is its token, and the id that was drawn since is not. The
 * claim follows (`service.claim_tokens`).
 *
 * @returns null when another process moved the request.
 */
export async function importEasyToken(db: Kysely<Database>, intent: Intent, found: EasyToken): Promise<Intent | null> {
  if (tokensOf(intent).tokens[0]?.tokenId === found.tokenId) return intent;
  const { payload, init_data } = withEasyToken(intent, found);
  const more = { payload: JSON.stringify(payload), init_data };
  return await moveIntent(db, intent, intent.state, intent.hold_reason, intent.hold_detail, more);
}
