import { AsyncLocalStorage } from "node:async_hooks";
import type pg from "pg";
import { ServiceError } from "../../errors/errors.ts";
import type { Tier } from "../tables/accounts.ts";

/** Who asks, as far as the database has to know. */
export interface Reader {
  /** Empty: nobody that is known. */
  account: string;
  /** Nobody has what free accounts have. */
  tier: Tier;
}

interface Scope extends Reader {
  /** The account that the running request belongs to, as soon as that is known: whose rows it sees. */
  tenant: string;
  end: RequestEnd | null;
  ownWrites?: true;
}

const running = new AsyncLocalStorage<Scope>();

/** Runs one request: what it asks the database is bound to the account that `setTenant` names within. */
export function withTenantScope<T>(run: () => T, end: RequestEnd | null = null): T {
  return running.run({ tenant: "", account: "", tier: "free", end }, run);
}

/** Runs reads of the index for an account. They see no tenant's rows, its own neither. */
export function withReadScope<T>({ account, tier }: Reader, end: RequestEnd, run: () => T): T {
  return running.run({ tenant: "", account, tier, end }, run);
}

/** @param tier of its plan: what its reads may have of the database. */
export function setTenant(accountId: string, tier: Tier = "free"): void {
  const scope = running.getStore();
  if (!scope) return;
  scope.tenant = accountId;
  scope.account = accountId;
  scope.tier = tier;
}

/** Empty: the request has no key, or it is no request. */
export function requestAccount(): string {
  return running.getStore()?.account ?? "";
}

/** Null: it is no request, but this process itself. */
export function requestReader(): Reader | null {
  const scope = running.getStore();
  return scope ? { account: scope.account, tier: scope.tier } : null;
}

/** When the client of the running request waits no more; null: it is no request. */
export function requestEnd(): RequestEnd | null {
  return running.getStore()?.end ?? null;
}

/**
 * Runs what others wait for as well: as the running request's account, whatever that request signs up as afterwards, and not
 * ended with its client.
 */
export function withoutEnd<T>(run: () => T): T {
  const scope = running.getStore();
  return scope ? running.run({ ...scope, end: null }, run) : run();
}

/** From here on the running request is answered by the primary: a replica may not have yet what it waited for. */
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

/** By name of a prepared statement: texts of reads are long, and looking through one costs as much as sending it. */
const owned = new Map<string, boolean>();

/** @param name of the statement, if it is prepared: its answer is kept. */
export function touchesOwned(text: string, name?: string): boolean {
  if (name === undefined) return ownedRelation.test(text);
  const known = owned.get(name);
  if (known !== undefined) return known;
  const found = ownedRelation.test(text);
  owned.set(name, found);
  return found;
}

/**
 * Sets whose request a connection serves, before each statement on tenants' rows. It
 * costs a round trip only when the tenant is another than the connection's last, and none for reads of
 * the index.
 */
export function bindToTenant(client: pg.ClientBase): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  let bound: string | null = null;
  /** Under way; whatever is asked meanwhile comes after it. */
  let binding: Promise<void> | null = null;
  client.query = ((...args: unknown[]) => {
    const [first] = args;
    const { text = "", name } = (typeof first === "string" ? { text: first } : (first ?? {})) as Statement;
    const tenant = running.getStore()?.tenant ?? "";
    if (tenant !== bound && touchesOwned(text, name)) {
      bound = tenant;
      binding = bind(tenant, binding);
    }
    // A transaction that is taken back takes the setting back.
    if (name === undefined && /^\s*rollback/i.test(text)) bound = null;
    const answer = binding ? queryAfter(binding, args) : query(...args);
    if (name === undefined && /^\s*commit/i.test(text)) forgetUnlessCommitted(answer);
    return answer;
  }) as typeof client.query;

  /** Rejects with pg's errors, and then the statement is not sent: the connection may still have another tenant's rows. */
  function bind(tenant: string, before: Promise<void> | null): Promise<void> {
    const run = async () => {
      await before?.catch(() => undefined);
      await query("SELECT set_config('app.tenant', $1, false)", [tenant]);
    };
    const own: Promise<void> = run().catch((error: unknown) => {
      bound = null;
      throw error;
    });
    // As the first of what waits for it: no statement can come between the setting and those that it is for.
    const settle = () => {
      if (binding === own) binding = null;
    };
    own.then(settle, settle);
    return own;
  }

  /** One after the other: pg is to have one statement of a connection at a time. */
  function queryAfter(before: Promise<void>, args: unknown[]): unknown {
    const last = args.at(-1);
    if (typeof last !== "function") return before.then(() => query(...args));
    before.then(
      () => query(...args),
      (error: unknown) => last(error),
    );
    return undefined;
  }

  /** A transaction with a failed statement is taken back by its commit too. Runs before the caller hears of it. */
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

/** The answer of a request, as Node's server has it. */
export interface Answer {
  readonly destroyed: boolean;
  readonly writableFinished: boolean;
  once(event: "close", listener: () => void): unknown;
}

/**
 * Whether a client still waits for a request's answer: until its client has gone, or its time is over. It costs
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
