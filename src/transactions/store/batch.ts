import { withoutEnd } from "../../db/tenancy/tenant.ts";

interface Options<Owner, Item> {
  /** Items in one batch. */
  most: number;
  /** Items of a failed batch are retried alone, all at once or in turn: one's fault must not fail the others. */
  retryIndividually: boolean | "in turn";
  /** A batch that takes longer is stuck at a node or connection: the next one does not wait for it. Default 250. */
  timeoutMs?: number;
  /** The first batch begins when this resolves, with all items waiting by then. Default: the items of the same tick. */
  gather?: (owner: Owner, waiting: () => readonly Item[]) => Promise<unknown>;
}

/**
 * Batches work that costs about the same for many items as for one. The first caller's item runs with those of the same
 * tick; items that arrive while a batch runs form the next one, which begins when the previous batch has ended or has
 * taken too long. Two batches may therefore overlap: the work itself has to guard against that where it matters.
 *
 * @param work returns one result per item, in their order; it never gets an empty list.
 * @returns a function of the owner (each has its own batches), a name (only items of one name share a batch) and the
 *   item; it resolves to that item's result or rejects with its error.
 */
export function batched<Owner extends object, Item, Result>(
  work: (owner: Owner, items: readonly Item[]) => Promise<readonly Result[]>,
  options: Options<Owner, Item>,
): (owner: Owner, name: string, item: Item) => Promise<Result> {
  const byOwner = new WeakMap<Owner, Batches<Item, Result>>();
  return async (owner, name, item) => {
    const gather = options.gather && ((waiting: () => readonly Item[]) => options.gather?.(owner, waiting));
    const batches = byOwner.get(owner) ?? new Batches((items) => work(owner, items), { ...options, gather });
    byOwner.set(owner, batches);
    return await batches.do(name, item);
  };
}

interface Entry<Item, Result> {
  item: Item;
  done: (result: Result) => void;
  failed: (error: unknown) => void;
}

interface OwnOptions<Item> extends Omit<Options<never, Item>, "gather"> {
  gather: ((waiting: () => readonly Item[]) => Promise<unknown> | undefined) | undefined;
}

class Batches<Item, Result> {
  readonly #work: (items: readonly Item[]) => Promise<readonly Result[]>;
  readonly #options: OwnOptions<Item>;
  readonly #waiting = new Map<string, Entry<Item, Result>[]>();

  constructor(work: (items: readonly Item[]) => Promise<readonly Result[]>, options: OwnOptions<Item>) {
    this.#work = work;
    this.#options = options;
  }

  async do(name: string, item: Item): Promise<Result> {
    return await new Promise<Result>((done, failed) => {
      const entry = { item, done, failed };
      const waiting = this.#waiting.get(name);
      if (waiting) {
        waiting.push(entry);
        return;
      }
      this.#waiting.set(name, [entry]);
      // Later batches serve other requests of the same name, which the end of the first one's client must not abort.
      void withoutEnd(() => this.#run(name));
    });
  }

  async #run(name: string): Promise<void> {
    // Callers that continue from the same answer share the first batch too.
    await this.#options.gather?.(() => this.#waiting.get(name)?.map(({ item }) => item) ?? []);
    for (let waiting = this.#waiting.get(name); waiting; waiting = this.#waiting.get(name)) {
      const batch = waiting.splice(0, this.#options.most);
      if (batch.length === 0) this.#waiting.delete(name);
      else await this.#settleOrGoOn(batch);
    }
  }

  async #settleOrGoOn(batch: readonly Entry<Item, Result>[]): Promise<void> {
    // Plain timers: an aborted signal makes an error with a stack each time.
    await new Promise<void>((goOn) => {
      const long = setTimeout(goOn, this.#options.timeoutMs ?? 250).unref();
      void this.#settle(batch).then(() => {
        clearTimeout(long);
        goOn();
      });
    });
  }

  async #settle(batch: readonly Entry<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#work(batch.map(({ item }) => item));
      for (const [index, { done }] of batch.entries()) done(results[index] as Result);
    } catch (error) {
      const { retryIndividually } = this.#options;
      if (!retryIndividually || batch.length === 1) for (const { failed } of batch) failed(error);
      else if (retryIndividually === "in turn") for (const entry of batch) await this.#settle([entry]);
      // The failure may have been a time-out, and no item should wait for those of all others.
      else await Promise.all(batch.map((entry) => this.#settle([entry])));
    }
  }
}
