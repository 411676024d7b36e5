import type { Kysely } from "kysely";
import { decodeFunctionData, type Hex, keccak256, parseAbi } from "viem";
import { productOperatorAbi } from "../../../contracts/abi/product-operator.ts";
import type { Chain } from "../../chains.ts";
import { toAddress, toBytes } from "../../db/bytes.ts";
import type { Database } from "../../db/database.ts";
import { askNode } from "../../rpc/nodes.ts";
import { type Intent, moveIntent } from "../store/intents.ts";
import { tokensOf } from "../store/payloads.ts";
import type { RelayContext } from "./context.ts";
import { rawOf } from "./find-nonces.ts";
import { intentName } from "./request-call.ts";

const mintAbi = parseAbi(["function mintToCaller(address caller, uint256 tokenId, string tokenURI) returns (uint256)"]);

/** The token that a call mints for an easy mint. */
export interface EasyToken {
  tokenId: string;
  /** The call of the product contract. */
  call: Hex;
}

/**
 * The token that a call mints for an easy mint: equal to the request's, with the same receiver, except for its id. The
 * id is drawn from a counter, so a request that is repeated after its rows were lost has drawn another one.
 *
 * @param data of the operator's call.
 * @returns null for a call that does not belong to this request.
 */
export function easyTokenOf(intent: Intent, to: string | null | undefined, data: Hex): EasyToken | null {
  if (intent.kind !== "mint" || !tokensOf(intent).easy || to?.toLowerCase() !== toAddress(intent.factory)) return null;
  try {
    const outer = decodeFunctionData({ abi: productOperatorAbi, data });
    if (outer.functionName !== "execute") return null;
    const [name, target, call] = outer.args;
    const own = name === intentName(intent.root_id) && target.toLowerCase() === toAddress(intent.predicted_addr);
    const [recipient, tokenId, uri] = decodeFunctionData({ abi: mintAbi, data: call }).args;
    const [wanted] = tokensOf(intent).tokens;
    const same = recipient.toLowerCase() === wanted?.to?.toLowerCase() && uri === wanted?.uri;
    return own && same ? { tokenId: String(tokenId), call } : null;
  } catch {
    return null;
  }
}

/**
 * The token that a mined transaction minted for an easy mint, from its own bytes, which its hash proves.
 *
 * @throws ServiceError `service_unavailable` while the node does not answer.
 */
export async function readEasyToken(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  hash: Hex,
): Promise<EasyToken | null> {
  if (intent.kind !== "mint" || !tokensOf(intent).easy) return null;
  const sent = await askNode(chain, () => services.rpc(chain).getTransaction({ hash }));
  const raw = rawOf(chain.id, sent);
  return raw && keccak256(raw) === hash ? easyTokenOf(intent, sent.to, sent.input) : null;
}

/** The columns of an easy mint's row that depend on its token. */
export function withEasyToken(intent: Intent, { tokenId, call }: EasyToken) {
  const payload = tokensOf(intent);
  const [token] = payload.tokens;
  return { payload: { ...payload, tokens: [{ ...token, tokenId }] }, init_data: toBytes(call) };
}

/**
 * Gives an easy mint the token id of a transaction that carried it out, in place of the id drawn since. The claim
 * follows (`service.claim_tokens`).
 *
 * @returns null when another process moved the request.
 */
export async function importEasyToken(db: Kysely<Database>, intent: Intent, found: EasyToken): Promise<Intent | null> {
  if (tokensOf(intent).tokens[0]?.tokenId === found.tokenId) return intent;
  const { payload, init_data } = withEasyToken(intent, found);
  const more = { payload: JSON.stringify(payload), init_data };
  return await moveIntent(db, intent, intent.state, intent.hold_reason, intent.hold_detail, more);
}
