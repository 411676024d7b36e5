import type { Caller } from "../auth/caller.ts";
import { Problems, renameFields } from "../collections/problems.ts";
import { ServiceError } from "../errors/errors.ts";
import { asUnavailable } from "../errors/unavailable.ts";
import { checkKey } from "../requests/carry-out.ts";
import type { Services } from "../services.ts";
import { type CarriedOut, carryOut, type Operation, planOperation } from "./carry-out.ts";
import { checkMint, mostTokens, type TokenInput } from "./check-tokens.ts";
import { findProduct, type Product } from "./find-product.ts";
import { type MintInput, mintOperation } from "./mint-tokens.ts";

const mostKeyLength = 200;

/** Each mint is identified by its id, so mints of one contract may share a transaction. */
const shared = { together: true };

/** The outcome of a listed token's mint; in an ERC-1155 contract it is the same for all tokens. */
export type MintResult = { done: CarriedOut; fault: null } | { done: null; fault: ServiceError | null };

/** A token to mint, and a function that stores the document of its URI. */
interface ListedToken extends TokenInput {
  store?: (() => Promise<void>) | undefined;
}

/**
 * Mints several tokens: of an ERC-1155 contract in one request; of an ERC-721 contract in one each, so a refused one
 * does not affect the others; those that wait at once share a transaction. The same list and key mean the same mints.
 *
 * @returns one result per token, in their order. A dry run does nothing, and its faults are those of a simulation.
 * @throws ServiceError for a list that cannot be started: as `findProduct`, and for all malformed tokens; as
 *   `carryOut`, where the list is one request, or where nothing was minted and the service is at fault.
 */
export async function mintMany(
  services: Services,
  caller: Caller,
  input: MintInput & { tokens: readonly ListedToken[] },
  { dryRun }: { dryRun: boolean },
): Promise<readonly MintResult[]> {
  const { tokens, idempotencyKey: key } = input;
  checkKey(key);
  if (tokens.length === 0 || tokens.length > mostTokens)
    throw new ServiceError("value_error", `tokens must be 1 to ${mostTokens}`, { field: "tokens" });
  const product = await findProduct(services, caller, input);
  const single = product.type === "erc1155" || tokens.length === 1;
  const operations = single
    ? [{ ...mintOperation(services, caller, product, checkMint(product, tokens), key, shared), store: storeOf(tokens) }]
    : split(services, caller, product, input);
  const results = await Promise.all(
    operations.map(async (operation, index): Promise<MintResult> => {
      try {
        if (!dryRun) return { done: await carryOut(services, caller, operation), fault: null };
        await planOperation(services, caller, operation);
        return { done: null, fault: null };
      } catch (thrown) {
        return { done: null, fault: faultOf(services, thrown, single ? null : index) };
      }
    }),
  );
  const [first] = results;
  // Nothing was minted: a fault that does not concern a single token is that of the whole list.
  const outage = results.find(({ fault }) => fault && fault.status >= 500)?.fault;
  if (outage && results.every(({ done }) => done === null)) throw outage;
  if (single && first?.fault) throw first.fault;
  return single && first ? tokens.map(() => first) : results;
}

/** One mint per token. Equal tokens of a list are separate mints, each with its own position. */
function split(services: Services, caller: Caller, product: Product, { tokens, idempotencyKey: key }: MintInput) {
  const last = `:${tokens.length - 1}`;
  if (key !== undefined && key.length + last.length > mostKeyLength)
    throw new ServiceError(
      "value_error",
      `the idempotency key of ${tokens.length} tokens may have ${mostKeyLength - last.length} characters`,
      { field: "idempotencyKey" },
    );
  const problems = new Problems();
  const checked = tokens.map((token, index) =>
    problems.attempt(() => {
      try {
        return checkMint(product, [token]);
      } catch (error) {
        throw error instanceof ServiceError ? placed(error, index) : error;
      }
    }),
  );
  problems.check();
  const equal = new Map<string, number>();
  return checked.map((token, index): Operation => {
    const own = key === undefined ? undefined : `${key}:${index}`;
    const mint = mintOperation(services, caller, product, token ?? [], own, shared);
    const before = equal.get(mint.canonical) ?? 0;
    equal.set(mint.canonical, before + 1);
    const canonical = before === 0 ? mint.canonical : `${mint.canonical} ${before}`;
    const store = storeOf(tokens.slice(index, index + 1));
    // Without a key a token is identified by its content, in whichever list it comes again.
    return { ...mint, canonical, store, ...(key === undefined ? {} : { place: { list: key, index } }) };
  });
}

function storeOf(tokens: readonly ListedToken[]): () => Promise<void> {
  return async () => {
    for (const { store } of tokens) await store?.();
  };
}

/** A failed mint's error for the client, with the position of its token. */
function faultOf(services: Services, thrown: unknown, index: number | null): ServiceError {
  let error = asUnavailable(thrown) ?? thrown;
  if (!(error instanceof ServiceError)) {
    services.log.error({ err: error }, "a mint of a list failed");
    error = new ServiceError("internal_error", "this mint failed here; send the same list again", { cause: thrown });
  }
  return index === null ? (error as ServiceError) : placed(error as ServiceError, index);
}

function placed(error: ServiceError, index: number): ServiceError {
  return renameFields(error, (member) => (member === undefined ? `tokens[${index}]` : `tokens[${index}].${member}`));
}
