import type { Caller } from "../auth/caller.ts";
import { Problems } from "../collections/problems.ts";
import { ServiceError } from "../errors/errors.ts";
import type { InputOf } from "../requests/fields.ts";
import type { Services } from "../services.ts";
import type { OperationToken } from "../transactions/store/payloads.ts";
import { type Operation, operationOn } from "./carry-out.ts";
import { checkTokens, checkUri, type TokenInput, type tokenUpdateFields } from "./check-tokens.ts";
import { findProduct, type ProductInput, readOwner } from "./find-product.ts";
import { encodeBurn, encodeTokenUpdate, encodeTransfer } from "./product-calls.ts";

type UpdateTokenInput = ProductInput & InputOf<typeof tokenUpdateFields>;

/**
 * Sets a token's metadata URI, freezes it for good, or both.
 *
 * @throws ServiceError as `findProduct`; `parameter_missing` when nothing is to change.
 */
export async function updateToken(services: Services, caller: Caller, input: UpdateTokenInput): Promise<Operation> {
  const product = await findProduct(services, caller, input);
  const { tokenId, uri, freeze = false } = input;
  checkTokens(product, [{ tokenId }], { id: "needed" });
  if (!uri && !freeze)
    throw new ServiceError("parameter_missing", "nothing to change: send a metadata URI or the freeze", {
      field: "uri",
    });
  const problems = new Problems();
  if (uri) checkUri(problems, "uri", uri);
  problems.check();
  const token: OperationToken = { tokenId: String(tokenId), ...(uri ? { uri } : {}), ...(freeze ? { freeze } : {}) };
  return operationOn(services, caller, product, {
    ...{ kind: "token_update", idempotencyKey: input.idempotencyKey },
    canonical: JSON.stringify(token),
    draft: async () => ({ payload: { type: product.type, tokens: [token] }, data: encodeTokenUpdate(token) }),
  });
}

interface MoveTokensInput extends ProductInput {
  /** For ERC-721 exactly one. */
  tokens: readonly TokenInput[];
}

/**
 * Burns tokens that the contract's owner holds.
 *
 * @throws ServiceError as `findProduct` and `checkTokens`.
 */
export const burnTokens = moverOf("burn");

/**
 * Transfers tokens that the contract's owner holds.
 *
 * @throws as `burnTokens`.
 */
export const transferTokens = moverOf("transfer");

function moverOf(kind: "burn" | "transfer") {
  return async (services: Services, caller: Caller, input: MoveTokensInput): Promise<Operation> => {
    const product = await findProduct(services, caller, input);
    const { type } = product;
    const wanted = { id: "needed", quantity: true, to: kind === "transfer" } as const;
    const tokens = checkTokens(product, input.tokens, wanted) as OperationToken[];
    return operationOn(services, caller, product, {
      ...{ kind, idempotencyKey: input.idempotencyKey },
      canonical: JSON.stringify(tokens.map(({ tokenId, to, quantity }) => [tokenId, to?.toLowerCase(), quantity])),
      draft: async () => ({
        payload: { type, tokens },
        // The check of the effect needs the owner of the tokens.
        owner: await readOwner(services, product),
        data: kind === "burn" ? encodeBurn(type, tokens) : encodeTransfer(type, tokens),
      }),
    });
  };
}
