import type { Caller } from "../auth/caller.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import { type CarriedOut, carryOut, planOperation } from "./carry-out.ts";
import { mostTokens } from "./check-tokens.ts";
import { findProduct } from "./find-product.ts";
import { type MintInput, mintTokens } from "./mint-tokens.ts";

/**
 * Mints several tokens: of an ERC-1155 contract by one request; of an ERC-721 contract each is a request of its own, so a
 * bad one takes no other down. Under one key the same list is the same mints.
 *
 * @param options `store` keeps what the URIs point to.
 * @returns none in a dry run.
 * @throws ServiceError as `carryOut`; of several ERC-721 mints the first fault, after the others were carried out.
 */
export async function mintMany(
  services: Services,
  caller: Caller,
  input: MintInput,
  { dryRun, store }: { dryRun: boolean; store: () => Promise<void> },
): Promise<readonly CarriedOut[]> {
  const { tokens, idempotencyKey: key } = input;
  if (tokens.length === 0 || tokens.length > mostTokens)
    throw new ServiceError("value_error", `tokens must be 1 to ${mostTokens}`, { field: "tokens" });
  const { type } = await findProduct(services, caller, input);
  const single = type === "erc1155" || tokens.length === 1;
  // Equal tokens of a list are several mints: each has its own place in it.
  const inputs = single
    ? [input]
    : tokens.map((token, index) => ({
        ...input,
        tokens: [token],
        idempotencyKey: key === undefined ? undefined : `${key}:${index}`,
      }));
  const operations = [];
  for (const each of inputs) operations.push({ ...(await mintTokens(services, caller, each)), store });
  if (dryRun) {
    for (const operation of operations) await planOperation(services, caller, operation);
    return [];
  }
  const done = await Promise.allSettled(operations.map((operation) => carryOut(services, caller, operation)));
  const failed = done.find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
  return done.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
}
