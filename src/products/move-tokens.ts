import type { Caller } from "../auth/caller.ts";
import type { OperationToken, TokensPayload } from "../relay/store/operation-payload.ts";
import type { Services } from "../services.ts";
import type { Operation } from "./carry-out.ts";
import { checkTokens, type TokenInput } from "./check-tokens.ts";
import { findProduct, readOwner } from "./find-product.ts";
import { encodeBurn, encodeTransfer } from "./product-calls.ts";
import { stillStands } from "./still-stands.ts";

export interface MoveTokensInput {
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
