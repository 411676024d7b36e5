import type { Caller } from "../auth/caller.ts";
import { Problems } from "../collections/problems.ts";
import { ServiceError } from "../errors/errors.ts";
import type { OperationToken, TokensPayload } from "../relay/store/operation-payload.ts";
import type { Services } from "../services.ts";
import type { Operation } from "./carry-out.ts";
import { checkTokens, checkUri } from "./check-tokens.ts";
import { findProduct } from "./find-product.ts";
import { encodeTokenUpdate } from "./product-calls.ts";
import { stillStands } from "./still-stands.ts";

export interface UpdateTokenInput {
  chain: string;
  contract: string;
  tokenId: bigint;
  /** Absent: the URI stays; then it has to be frozen. */
  uri?: string | undefined;
  /** The URI is frozen for good. */
  freeze?: boolean | undefined;
  idempotencyKey?: string | undefined;
}

/**
 * Another metadata URI of a token, or that it never changes again.
 *
 * @throws ServiceError what `findProduct` throws; `parameter_missing` when nothing is to change.
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
  const { chain, address, asSent, type, deployedOwner } = product;
  const payload: TokensPayload = { contract: address, contractAsSent: asSent, type, tokens: [token] };
  return {
    ...{ chain, kind: "token_update", operator: product.operator, idempotencyKey: input.idempotencyKey },
    canonical: `${address} ${JSON.stringify(token)}`,
    stands: (earlier) => stillStands(services, caller, product, earlier),
    draft: async () => ({ payload, target: address, owner: deployedOwner, data: encodeTokenUpdate(token) }),
  };
}
