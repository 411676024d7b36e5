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

/** Each is known by its id, so those of a contract may share a transaction. */
const shared = { together: true };

/** A token of a list, and how its mint came out; of an ERC-1155 contract all tokens come out alike. */
export type MintResult = { done: CarriedOut; fault: null } | { done: null; fault: ServiceError | null };

/** A token that is minted, and what keeps the document that its URI points to. */
interface ListedToken extends TokenInput {
  store?: (() => Promise<void>) | undefined;
}

/**
 * Mints several tokens: of an ERC-1155 contract by one request; of an ERC-721 contract each is a request of its own, so a
 * token that is refused takes no other down; those that wait at once share a transaction. Under one key the same list is the same mints.
 *
 * @returns one for each token, in their order. In a dry run nothing is done, and the faults are those of a simulation.
 * @throws ServiceError for a list that cannot be begun: what `findProduct` throws, and all malformed tokens; what `carryOut`
 *   throws where the list is one request, or where nothing was minted and the service is at fault.
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
  // Nothing was minted: what is no matter of one token is the whole list's.
  const outage = results.find(({ fault }) => fault && fault.status >= 500)?.fault;
  if (outage && results.every(({ done }) => done === null)) throw outage;
  if (single && first?.fault) throw first.fault;
  return single && first ? tokens.map(() => first) : results;
}

/** One mint for each token. Equal tokens of a list are several mints: each has its own place in it. */
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
    // Without a key a token is known by what it asks for, in whichever list it comes again.
    return { ...mint, canonical, store, ...(key === undefined ? {} : { place: { list: key, index } }) };
  });
}

function storeOf(tokens: readonly ListedToken[]): () => Promise<void> {
  return async () => {
    for (const { store } of tokens) await store?.();
  };
}

/** What a client learns of a failed mint, with the place of its token. */
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
