interface Entry<Item, Result> {
  item: Item;
  done: (result: Result) => void;
  failed: (error: unknown) => void;
}

/**
 * Work that costs about the same for many as for one, done together for all who ask within one turn of the event loop,
 * such as the fields of one GraphQL request. Unlike `batched` nobody's work begins at once and nobody waits for a batch
 * before.
 *
 * @param work gives one result per item, in their order; a failure is everybody's.
 * @param most items of one call of `work`.
 */
export function gathered<Owner extends object, Item, Result>(
  work: (owner: Owner, items: readonly Item[]) => Promise<readonly Result[]>,
  most: number,
): (owner: Owner, item: Item) => Promise<Result> {
  const waiting = new WeakMap<Owner, Entry<Item, Result>[]>();
  const run = async (owner: Owner, batch: readonly Entry<Item, Result>[]) => {
    try {
      const results = await work(
        owner,
        batch.map(({ item }) => item),
      );
      for (const [index, { done }] of batch.entries()) done(results[index] as Result);
    } catch (error) {
      for (const { failed } of batch) failed(error);
    }
  };
  return async (owner, item) =>
    await new Promise<Result>((done, failed) => {
      const entry = { item, done, failed };
      const others = waiting.get(owner);
      if (others) {
        others.push(entry);
        return;
      }
      const entries = [entry];
      waiting.set(owner, entries);
      setImmediate(() => {
        waiting.delete(owner);
        for (let start = 0; start < entries.length; start += most) void run(owner, entries.slice(start, start + most));
      });
    });
}
