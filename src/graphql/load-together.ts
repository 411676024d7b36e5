import DataLoader from "dataloader";
import type { GraphQLResolveInfo } from "graphql";
import type { Caller } from "../auth/caller.ts";
import { mostKeys, type Outcome } from "../nfts/read-for-each.ts";
import type { GraphQLContext } from "./builder.ts";

interface Item {
  key: unknown;
  identity: string;
}

type Loader = DataLoader<Item, unknown, string>;

const loaders = new WeakMap<GraphQLContext, Map<string, Loader>>();

/**
 * Reads a field of many objects in one statement: resolvers of one level run within one turn of the event loop, and
 * their reads with the same arguments are batched. Nothing is cached for later levels or events.
 *
 * @param read names the read and everything its statement depends on besides the key: field, chain, arguments, parts.
 * @param identity distinguishes keys; equal ones are read once.
 * @throws ServiceError of this key.
 */
export async function loadTogether<K, T>(
  context: GraphQLContext,
  read: readonly unknown[],
  key: K,
  identity: string,
  run: (keys: readonly K[]) => Promise<readonly Outcome<T>[]>,
): Promise<T> {
  const known = loaders.get(context) ?? new Map<string, Loader>();
  loaders.set(context, known);
  const name = JSON.stringify(read, (_key, value) => (typeof value === "bigint" ? `${value}n` : value));
  const loader = known.get(name) ?? loaderOf((keys) => run(keys as readonly K[]));
  known.set(name, loader);
  return (await loader.load({ key, identity })) as T;
}

/**
 * Reads a field of an object at an address, batched with the same field of other objects at this level.
 *
 * @param variant everything the statement depends on besides the address.
 */
export async function loadByAddress<T>(
  context: GraphQLContext,
  { parentType, fieldName }: GraphQLResolveInfo,
  address: string,
  variant: unknown,
  run: (caller: Caller, addresses: readonly string[]) => Promise<readonly Outcome<T>[]>,
): Promise<T> {
  const read = [parentType.name, fieldName, variant];
  return await loadTogether(context, read, address, address, async (addresses) =>
    run(await context.caller(), addresses),
  );
}

function loaderOf(run: (keys: readonly unknown[]) => Promise<readonly Outcome<unknown>[]>): Loader {
  const loader: Loader = new DataLoader(
    async (items) => {
      loader.clearAll();
      return await run(items.map(({ key }) => key));
    },
    {
      cacheKeyFn: ({ identity }) => identity,
      maxBatchSize: mostKeys,
      // Resolvers of one level continue in several steps of one turn.
      batchScheduleFn: (dispatch) => setImmediate(dispatch),
    },
  );
  return loader;
}
