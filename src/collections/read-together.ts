import DataLoader from "dataloader";
import { withoutEnd } from "../db/tenancy/tenant.ts";
import type { Services } from "../services.ts";

const mostKeys = 100;

/**
 * Reads in one statement the keys requested within one turn of the event loop, such as by the fields of one document.
 * The read continues when the client that asked first disconnects.
 *
 * @param read returns one value per key, in their order.
 * @returns a function of a key and its scope: only keys of one scope, such as a chain, share a statement.
 */
export function readTogether<Scope, Key, Value>(
  read: (services: Services, keys: readonly Key[], scope: Scope) => Promise<readonly Value[]>,
) {
  const loaders = new WeakMap<Services, Map<Scope, DataLoader<Key, Value>>>();
  return async (services: Services, key: Key, scope: Scope): Promise<Value> => {
    const byScope = loaders.get(services) ?? new Map<Scope, DataLoader<Key, Value>>();
    loaders.set(services, byScope);
    const loader =
      byScope.get(scope) ??
      new DataLoader<Key, Value>((keys) => withoutEnd(() => read(services, keys, scope)), {
        cache: false,
        maxBatchSize: mostKeys,
        batchScheduleFn: (dispatch) => setImmediate(dispatch),
      });
    byScope.set(scope, loader);
    return await loader.load(key);
  };
}
