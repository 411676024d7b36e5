import { AsyncLocalStorage } from "node:async_hooks";
import type pg from "pg";
import { ServiceError } from "../../errors/errors.ts";
import type { Tier } from "../tables/accounts.ts";

/** The client of a read, as far as the database has to know it. */
export interface Reader {
  /** Empty: an unknown client. */
  account: string;
  /** Unknown clients have a free account's tier. */
  tier: Tier;
}

interface Scope extends Reader {
  /** The account of the running request, once it is known: its rows are visible. */
  tenant: string;
  end: RequestEnd | null;
  ownWrites?: true;
}

const running = new AsyncLocalStorage<Scope>();

/** Runs one request: its statements are bound to the account that `setTenant` sets within. */
export function withTenantScope<T>(run: () => T, end: RequestEnd | null = null): T {
  return running.run({ tenant: "", account: "", tier: "free", end }, run);
}

/** Runs reads of the index for an account. They see no tenant's rows, not even the account's own. */
export function withReadScope<T>({ account, tier }: Reader, end: RequestEnd, run: () => T): T {
  return running.run({ tenant: "", account, tier, end }, run);
}

/** @param tier of the account's plan: what its reads may use of the database. */
export function setTenant(accountId: string, tier: Tier = "free"): void {
  const scope = running.getStore();
  if (!scope) return;
  scope.tenant = accountId;
  scope.account = accountId;
  scope.tier = tier;
}

/** Empty: the request has no key, or no request is running. */
export function requestAccount(): string {
  return running.getStore()?.account ?? "";
}

/** Null: no request is running; the statement is this process's own. */
export function requestReader(): Reader | null {
  const scope = running.getStore();
  return scope ? { account: scope.account, tier: scope.tier } : null;
}

/** Signals when the running request's client no longer waits; null: no request is running. */
export function requestEnd(): RequestEnd | null {
  return running.getStore()?.end ?? null;
}

/**
 * Runs work that others wait for as well: as the running request's account, even if that request sets another account
 * later, and not cancelled when its client goes.
 */
export function withoutEnd<T>(run: () => T): T {
  const scope = running.getStore();
  return scope ? running.run({ ...scope, end: null }, run) : run();
}

/** From here on, the primary answers the running request: a replica may not yet have what the request waited for. */
export function readOwnWrites(): void {
  const scope = running.getStore();
  if (scope) scope.ownWrites = true;
}

export function readsOwnWrites(): boolean {
  return running.getStore()?.ownWrites === true;
}

/** Relations whose rows belong to a tenant; row-level security compares them with `app.tenant`. */
const ownedRelation =
  /\bservice"?\."?(account|api_key|key_secret|usage_month|charge|account_storage|upload|intent|token_claim|self_deployment|collection|wallet_login|event|webhook|webhook_delivery|webhook_try|webhook_use|request_log)\b/;

interface Statement {
  text?: string;
  name?: string;
}

/** By name of the prepared statement: texts of reads are long, and searching one costs as much as sending it. */
const owned = new Map<string, boolean>();

/** @param name of the statement, if it is prepared: the result is cached. */
export function touchesOwned(text: string, name?: string): boolean {
  if (name === undefined) return ownedRelation.test(text);
  const known = owned.get(name);
  if (known !== undefined) return known;
  const found = ownedRelation.test(text);
  owned.set(name, found);
  return found;
}

/**
 * Before each statement on tenants' rows, sets the tenant of the request that the connection serves. That costs a round
 * trip only when the connection's last tenant was another, and nothing for reads of the index.
 */
export function bindToTenant(client: pg.ClientBase): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  let bound: string | null = null;
  /** The setting under way; statements sent meanwhile come after it. */
  let binding: Promise<void> | null = null;
  client.query = ((...args: unknown[]) => {
    const [first] = args;
    const { text = "", name } = (typeof first === "string" ? { text: first } : (first ?? {})) as Statement;
    const tenant = running.getStore()?.tenant ?? "";
    if (tenant !== bound && touchesOwned(text, name)) {
      bound = tenant;
      binding = bind(tenant, binding);
    }
    // A rollback also undoes the setting.
    if (name === undefined && /^\s*rollback/i.test(text)) bound = null;
    const answer = binding ? queryAfter(binding, args) : query(...args);
    if (name === undefined && /^\s*commit/i.test(text)) forgetUnlessCommitted(answer);
    return answer;
  }) as typeof client.query;

  /** Rejects with pg's errors. The statement is then not sent: the connection may still be bound to another tenant. */
  function bind(tenant: string, before: Promise<void> | null): Promise<void> {
    const run = async () => {
      await before?.catch(() => undefined);
      await query("SELECT set_config('app.tenant', $1, false)", [tenant]);
    };
    const own: Promise<void> = run().catch((error: unknown) => {
      bound = null;
      throw error;
    });
    // Runs before everything else that waits for it: no statement can get between the setting and those that it is for.
    const settle = () => {
      if (binding === own) binding = null;
    };
    own.then(settle, settle);
    return own;
  }

  /** One after another: pg should have one statement of a connection at a time. */
  function queryAfter(before: Promise<void>, args: unknown[]): unknown {
    const last = args.at(-1);
    if (typeof last !== "function") return before.then(() => query(...args));
    before.then(
      () => query(...args),
      (error: unknown) => last(error),
    );
    return undefined;
  }

  /** A commit also rolls back a transaction with a failed statement. Runs before the caller gets the result. */
  function forgetUnlessCommitted(answer: unknown): void {
    if (!(answer instanceof Promise)) {
      bound = null;
      return;
    }
    answer.then(
      ({ command }: { command?: string }) => {
        if (command !== "COMMIT") bound = null;
      },
      () => {
        bound = null;
      },
    );
  }
}

/** A request's response, as Node's server has it. */
export interface Answer {
  readonly destroyed: boolean;
  readonly writableFinished: boolean;
  once(event: "close", listener: () => void): unknown;
}

/**
 * Whether a client still waits for a request's answer: until the client has gone, or the request's time is over. It
 * costs nothing until a listener is added.
 */
export class RequestEnd {
  readonly #answer: Answer | null;
  #listeners: Set<(reason: Error) => void> | null = null;
  #reason: Error | null = null;
  #watching = false;
  /** Statements that wait for a connection now, since when at least one does, and for how long one did before that. */
  #waiting = 0;
  #waitingSince = 0;
  #waitedMs = 0;

  /** @param answer null: the request has no client that could go away. */
  constructor(answer: Answer | null) {
    this.#answer = answer;
  }

  /** Why the client no longer waits; null: it still does. */
  get reason(): Error | null {
    return this.#reason ?? (this.#isGone() ? goneError() : null);
  }

  /** @returns a function that removes the listener. */
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

  /** For how long at least one statement of the request has waited for a connection. */
  get waitedMs(): number {
    return this.#waitedMs + (this.#waiting > 0 ? performance.now() - this.#waitingSince : 0);
  }

  /** Records that a statement waits for a connection. @returns a function that records its end; call it once. */
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

  /** The client no longer waits: every running statement of the request is cancelled. */
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

// Nobody reads this: the client has gone.
const goneError = () => new ServiceError("service_unavailable", "the client has gone");
