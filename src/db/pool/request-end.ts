import { ServiceError } from "../../errors/errors.ts";

/** The answer of a request, as Node's server has it. */
export interface Answer {
  readonly destroyed: boolean;
  readonly writableFinished: boolean;
  once(event: "close", listener: () => void): unknown;
}

/**
 * Tells whether a client still waits for a request's answer: until its client has gone, or its time is over. It costs
 * nothing until it is listened to.
 */
export class RequestEnd {
  readonly #answer: Answer | null;
  #listeners: Set<(reason: Error) => void> | null = null;
  #reason: Error | null = null;
  #watching = false;
  /** Statements that wait for a connection now, since when one does, and for how long one did before. */
  #waiting = 0;
  #waitingSince = 0;
  #waitedMs = 0;

  /** @param answer null: the request has no client that could go. */
  constructor(answer: Answer | null) {
    this.#answer = answer;
  }

  /** Why the client waits no more; null: it does. */
  get reason(): Error | null {
    return this.#reason ?? (this.#isGone() ? goneError() : null);
  }

  /** @returns takes the listener back. */
  onEnd(listener: (reason: Error) => void): () => void {
    const listeners = this.#listeners ?? new Set();
    this.#listeners = listeners.add(listener);
    if (!this.#watching) {
      this.#watching = true;
      this.#answer?.once("close", () => {
        if (this.#isGone()) this.end(goneError());
      });
    }
    return () => listeners.delete(listener);
  }

  /** For how long any statement of the request has waited for a connection. */
  get waitedMs(): number {
    return this.#waitedMs + (this.#waiting > 0 ? performance.now() - this.#waitingSince : 0);
  }

  /** Says that a statement waits for a connection. @returns says that it does so no more; once. */
  wait(): () => void {
    if (this.#waiting === 0) this.#waitingSince = performance.now();
    this.#waiting += 1;
    let over = false;
    return () => {
      if (over) return;
      over = true;
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#waitedMs += performance.now() - this.#waitingSince;
    };
  }

  /** The client waits no more: every statement of the request that runs is cancelled. */
  end(reason: Error): void {
    if (this.#reason) return;
    this.#reason = reason;
    const listeners = [...(this.#listeners ?? [])];
    this.#listeners?.clear();
    for (const listener of listeners) listener(reason);
  }

  #isGone(): boolean {
    return this.#answer?.destroyed === true && !this.#answer.writableFinished;
  }
}

// Never read: the client has gone.
const goneError = () => new ServiceError("service_unavailable", "the client has gone");
