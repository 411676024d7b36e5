import { ServiceError } from "../errors/errors.ts";
import { gathered } from "../gathered.ts";
import { mostKeys, type Outcome } from "../nfts/read-for-each.ts";
import type { GraphQLContext } from "./builder.ts";

interface Item {
  key: unknown;
  identity: string;
}

/** One read of one operation: every object whose field asks for it while the operation's level is resolved. */
interface Level {
  load(keys: readonly unknown[]): Promise<readonly Outcome<unknown>[]>;
}

const levels = new WeakMap<GraphQLContext, Map<string, Level>>();

const load = gathered<Level, Item, Outcome<unknown>>(async (level, items) => {
  const distinct = [...new Map(items.map((item) => [item.identity, item])).values()];
  const outcomes = await level.load(distinct.map(({ key }) => key));
  const found = new Map(distinct.map(({ identity }, index) => [identity, outcomes[index] as Outcome<unknown>]));
  return items.map(({ identity }) => found.get(identity) as Outcome<unknown>);
}, mostKeys);

/**
 * Reads a field of many objects in one statement: the resolvers of a level come within one turn of the event loop, and what
 * they ask for with the same arguments is asked for together. Nothing is kept for later levels or events.
 *
 * @param read names the read with all that its statement depends on beside the key: field, chain, arguments, parts.
 * @param identity tells equal keys from others; equal ones are read once.
 * @throws ServiceError of this key.
 */
export async function loadTogether<K, T>(
  context: GraphQLContext,
  read: readonly unknown[],
  key: K,
  identity: string,
  run: (keys: readonly K[]) => Promise<readonly Outcome<T>[]>,
): Promise<T> {
  let known = levels.get(context);
  if (!known) {
    known = new Map();
    levels.set(context, known);
  }
  const name = JSON.stringify(read, (_key, value) => (typeof value === "bigint" ? `${value}n` : value));
  let level = known.get(name);
  if (!level) {
    level = { load: run as Level["load"] };
    known.set(name, level);
  }
  const outcome = await load(level, { key, identity });
  if (outcome instanceof ServiceError) throw outcome;
  return outcome as T;
}
