import type { S3Settings } from "../../config/ipfs-store.ts";
import { StoreAway, type StoreFigures } from "../car-storage.ts";
import { faultOf, isMissing, ObjectMissing, type StoreFault } from "./store-fault.ts";

export type Action = "read" | "write" | "remove" | "list";

/** Runs one request to the store. @throws ObjectMissing, StoreAway */
export type Asking = <T>(action: Action, request: () => Promise<T>) => Promise<T>;

/** After this many failures in a row, requests are refused at once, except for one per `restMs`. */
const failuresBeforeRest = 3;
const restMs = 1_000;

/**
 * Counts requests and failures. A store that is away would delay every reader by its timeouts. So after a few failures
 * only one request per second is sent, and the others are refused at once.
 */
export class StoreHealth {
  readonly figures: StoreFigures = { onRequest: null, cacheHits: 0, cacheMisses: 0 };
  readonly #settings: S3Settings;
  /** The last fault of each kind of request, until one of that kind succeeds. */
  readonly #faults = new Map<Action, StoreFault>();
  #failures = 0;
  #nextTry = 0;
  /** When the last request ended, by `performance.now()`. */
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
      // A refusal is an answer: the store is not away.
      this.#failures = fault.isMistake ? 0 : this.#failures + 1;
      ended(fault.isMistake ? "refused" : "away");
      throw new StoreAway(fault);
    }
  };

  /** The present fault of the store, by the last requests. */
  fault(): StoreFault | null {
    return this.#faults.values().next().value ?? null;
  }

  #succeeded(action: Action): void {
    this.#failures = 0;
    this.#faults.delete(action);
    // The store answers again, so faults that say it is away are over. Refusals are not.
    for (const [other, fault] of this.#faults) if (!fault.isMistake) this.#faults.delete(other);
  }
}
