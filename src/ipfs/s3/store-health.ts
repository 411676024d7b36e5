import type { S3Settings } from "../../config/ipfs-store.ts";
import { StoreAway, type StoreFigures } from "../car-storage.ts";
import { faultOf, isMissing, ObjectMissing, type StoreFault } from "./store-fault.ts";

export type Action = "read" | "write" | "remove" | "list";

/** Runs one request of the store. @throws ObjectMissing, StoreAway */
export type Asking = <T>(action: Action, request: () => Promise<T>) => Promise<T>;

/** So many failures one after another, and further requests are refused at once; one in this time tries. */
const failuresBeforeRest = 3;
const restMs = 1_000;

/**
 * Counts requests and failures. A store that is away would keep every reader for as long as its timeouts are: after a few of
 * them only one request in a second waits, and the others are refused at once.
 */
export class StoreHealth {
  readonly figures: StoreFigures = { onRequest: null, cacheHits: 0, cacheMisses: 0 };
  readonly #settings: S3Settings;
  /** The last fault of each kind of request, until one of that kind is answered. */
  readonly #faults = new Map<Action, StoreFault>();
  #failures = 0;
  #nextTry = 0;
  /** When a request ended last, by `performance.now()`. */
  lastAsked = Number.NEGATIVE_INFINITY;

  constructor(settings: S3Settings) {
    this.#settings = settings;
  }

  readonly ask: Asking = async (action, request) => {
    const startedAt = performance.now();
    if (this.#failures >= failuresBeforeRest) {
      if (startedAt < this.#nextTry) throw new StoreAway(this.fault());
      this.#nextTry = startedAt + restMs;
    }
    const ended = (result: "ok" | "refused" | "away") => {
      this.lastAsked = performance.now();
      this.figures.onRequest?.(action, result, (this.lastAsked - startedAt) / 1_000);
    };
    try {
      const answer = await request();
      this.#succeeded(action);
      ended("ok");
      return answer;
    } catch (error) {
      if (isMissing(error)) {
        this.#succeeded(action);
        ended("ok");
        throw new ObjectMissing("the store has no such object", { cause: error });
      }
      const fault = faultOf(error, action, this.#settings);
      this.#faults.set(action, fault);
      // What is refused was answered: the store is not away for others.
      this.#failures = fault.isMistake ? 0 : this.#failures + 1;
      ended(fault.isMistake ? "refused" : "away");
      throw new StoreAway(fault);
    }
  };

  /** What is wrong with the store, as the last requests say. */
  fault(): StoreFault | null {
    return this.#faults.values().next().value ?? null;
  }

  #succeeded(action: Action): void {
    this.#failures = 0;
    this.#faults.delete(action);
    // It answers again: what the others said of its absence is over. A refusal of theirs is not.
    for (const [other, fault] of this.#faults) if (!fault.isMistake) this.#faults.delete(other);
  }
}
