import { createHash } from "node:crypto";
import type { Caller } from "../auth/caller.ts";
import { toBytes } from "../db/bytes.ts";
import { ServiceError } from "../errors/errors.ts";
import { getRequest } from "../requests/requests.ts";
import type { Services } from "../services.ts";
import type { FreedClaim } from "../transactions/accept/accept-intent.ts";
import { batched } from "../transactions/store/batch.ts";
import { getIntent, newestRetry } from "../transactions/store/intents.ts";
import { type OperationToken, type TokensPayload, tokensOf } from "../transactions/store/payloads.ts";
import { type Earlier, type Operation, type OperationDraft, operationOn } from "./carry-out.ts";
import { type CheckedToken, checkMint, type TokenInput } from "./check-tokens.ts";
import { findProduct, type Product, type ProductInput, productRequests } from "./find-product.ts";
import { encodeMint } from "./product-calls.ts";
import { isMinted } from "./read-token.ts";
import { goneBeforeFinal } from "./still-stands.ts";

export interface MintInput extends ProductInput {
  /** For ERC-721 exactly one. */
  tokens: readonly TokenInput[];
  /** Its client identifies each mint by its id, so several waiting mints may share a transaction. */
  together?: boolean;
}

/**
 * Mints one token, or several of an ERC-1155 contract, to the requested recipients. A missing token id is derived from
 * the request's own id, so it stays the same whatever is lost and repeated.
 *
 * @throws ServiceError as `findProduct` and `checkTokens`.
 */
export async function mintTokens(services: Services, caller: Caller, input: MintInput): Promise<Operation> {
  const product = await findProduct(services, caller, input);
  const { idempotencyKey, together = false } = input;
  return mintOperation(services, caller, product, checkMint(product, input.tokens), idempotencyKey, { together });
}

/**
 * @param tokens checked; those without an id get one.
 * @param more `together`: see `MintInput`; `easy`: for the service's own contract, whose ids are drawn elsewhere.
 */
export function mintOperation(
  services: Services,
  caller: Caller,
  product: Product,
  tokens: readonly CheckedToken[],
  idempotencyKey: string | undefined,
  more: {
    together?: boolean;
    easy?: { payload: TokensPayload["easy"]; drawId: () => Promise<string> };
  } = {},
): Operation {
  const { type } = product;
  const { easy, together = false } = more;
  return operationOn(services, caller, product, {
    ...{ kind: "mint", idempotencyKey },
    canonical: canonicalOf(tokens),
    draft: async (id) => {
      const drawn: OperationToken[] = [];
      for (const [index, token] of tokens.entries())
        drawn.push({ ...token, tokenId: token.tokenId ?? (await easy?.drawId()) ?? drawId(id, index) });
      const shared = { ...(together ? { together } : {}), ...(easy?.payload ? { easy: easy.payload } : {}) };
      return { payload: { type, tokens: drawn, ...shared }, data: encodeMint(type, drawn) };
    },
    findEarlier: (draft) => findClaims(services, caller, product, draft),
  });
}

/** 128 bits of a hash of the request's id: no other request gets the same id, and this one never gets another. */
function drawId(requestId: string, index: number): string {
  const hex = createHash("sha256").update(`token ${requestId} ${index}`).digest("hex");
  return BigInt(`0x${hex.slice(0, 32)}`).toString();
}

/** Reads the claims for several mints of one account and contract at once. */
const readClaims = batched(
  async ({ db }: Services, asked: readonly { product: Product; tokens: readonly OperationToken[] }[]) => {
    const ids = asked.flatMap(({ tokens }) => tokens.map(({ tokenId }) => tokenId));
    const rows = await db
      .selectFrom("service.token_claim")
      .select(["token_id", "root_id"])
      .where("chain_id", "=", asked[0]?.product.chain.id ?? 0)
      .where("contract", "=", toBytes(asked[0]?.product.address ?? "0x"))
      .where("token_id", "in", ids)
      .execute();
    return asked.map(({ tokens }) => rows.filter(({ token_id }) => tokens.some(({ tokenId }) => tokenId === token_id)));
  },
  { most: 32, retryIndividually: false },
);

function canonicalOf(tokens: readonly Partial<OperationToken>[]): string {
  return JSON.stringify(
    tokens.map(({ tokenId, to, uri, quantity }) => [tokenId ?? null, to?.toLowerCase(), uri, quantity]),
  );
}

/**
 * Earlier mints with token ids of this one, as far as this service knows.
 *
 * @returns the mint that this one repeats, and the claims of tokens that have been burned since.
 * @throws ServiceError `value_error` naming the transaction that used an id for another token.
 */
async function findClaims(
  services: Services,
  caller: Caller,
  product: Product,
  { payload }: OperationDraft,
): Promise<Earlier> {
  const { tokens } = payload as TokensPayload;
  const name = `${caller.accountId} ${product.chain.id} ${product.address}`;
  const claims = await readClaims(services, name, { product, tokens });
  const freed: FreedClaim[] = [];
  for (const { token_id, root_id } of claims) {
    const earlier = await newestRetry(services.db, await getIntent(services.db, root_id));
    const request = await getRequest(services, caller, productRequests, { id: earlier.id });
    // The token has been burned since: its id may be minted again, and an equal mint is a new one.
    if (request.confirmed && !(await isMinted(services, product, BigInt(token_id)))) {
      if (request.state !== "finalized") throw goneBeforeFinal(BigInt(token_id));
      freed.push({ tokenId: token_id, rootId: root_id });
      continue;
    }
    if (canonicalOf(tokensOf(earlier).tokens) === canonicalOf(tokens)) return { earlier, freed: [] };
    const by = request.transactionHash ? `transaction ${request.transactionHash}` : `request ${request.id}`;
    throw new ServiceError("value_error", `token ${token_id} is taken: ${by} mints it`, {
      field: "tokenId",
      details: { tokenId: token_id, transactionHash: request.transactionHash, request: request.id },
    });
  }
  return { earlier: null, freed };
}
