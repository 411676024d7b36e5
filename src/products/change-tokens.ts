import type { Caller } from "../auth/caller.ts";
import { Problems } from "../collections/problems.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import type { OperationToken, TokensPayload } from "../transactions/store/payloads.ts";
import type { Operation } from "./carry-out.ts";
import { checkTokens, checkUri, type TokenInput } from "./check-tokens.ts";
import { findProduct, readOwner } from "./find-product.ts";
import { encodeBurn, encodeTokenUpdate, encodeTransfer } from "./product-calls.ts";
import { stillStands } from "./still-stands.ts";

interface UpdateTokenInput {
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

interface MoveTokensInput {
  chain: string;
  contract: string;
  /** Of ERC-721 exactly one. */
  tokens: readonly TokenInput[];
  idempotencyKey?: string | undefined;
}

/**
 * Burns tokens that the contract's owner holds.
 *
 * @throws ServiceError what `findProduct` and `checkTokens` throw.
 */
export async function burnTokens(services: Services, caller: Caller, input: MoveTokensInput): Promise<Operation> {
  return await move(services, caller, input, "burn");
}

/**
 * Transfers tokens that the contract's owner holds.
 *
 * @throws as `burnTokens`.
 */
export async function transferTokens(services: Services, caller: Caller, input: MoveTokensInput): Promise<Operation> {
  return await move(services, caller, input, "transfer");
}

async function move(
  services: Services,
  caller: Caller,
  input: MoveTokensInput,
  kind: "burn" | "transfer",
): Promise<Operation> {
  const product = await findProduct(services, caller, input);
  const { chain, address, asSent, type } = product;
  const wanted = { id: "needed", quantity: true, to: kind === "transfer" } as const;
  const tokens = checkTokens(product, input.tokens, wanted) as OperationToken[];
  const payload: TokensPayload = { contract: address, contractAsSent: asSent, type, tokens };
  const same = tokens.map(({ tokenId, to, quantity }) => [tokenId, to?.toLowerCase(), quantity]);
  return {
    ...{ chain, kind, operator: product.operator, idempotencyKey: input.idempotencyKey },
    canonical: `${address} ${JSON.stringify(same)}`,
    stands: (earlier) => stillStands(services, caller, product, earlier),
    draft: async () => ({
      payload,
      target: address,
      // The effect is checked by whose tokens they were.
      owner: await readOwner(services, product),
      data: kind === "burn" ? encodeBurn(type, tokens) : encodeTransfer(type, tokens),
    }),
  };
}
