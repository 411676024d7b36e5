import { type Kysely, sql } from "kysely";
import type pg from "pg";
import type { Chain } from "../../chains.ts";
import type { Database } from "../../db/database.ts";
import type { IntentState } from "../../db/tables/relay.ts";
import { withTenantScope } from "../../db/tenancy/tenant.ts";
import { ServiceError } from "../../errors/errors.ts";
import { withoutSpan } from "../../telemetry/span.ts";
import type { RelayContext } from "../chain/context.ts";
import { readChainPace } from "../chain/view.ts";
import { type Intent, lostRequest, replacesRecord } from "../store/intents.ts";

/** A request's progress towards a signature (`service.signing_of`). */
export interface Signing {
  id: string;
  /** The state of its newest retry, as are all following members. */
  state: IntentState;
  /** For a member of a batch: the state of its lead. */
  lead_state: IntentState | null;
  version: number;
  expires_at: Date;
  /** Seconds since its client last asked for it. */
  asked_seconds: number;
  hold_reason: string | null;
  hold_detail: string | null;
  /** Why the last attempt failed, unless the request is held for that reason. */
  reason: string | null;
}

interface Wait {
  id: string;
  ends: (seen: Signing) => boolean;
  begun: number;
  untilMs: number;
  /** When its row is read next. */
  nextMs: number;
  done: (seen: Signing | null) => void;
  failed: (error: unknown) => void;
}

/** The signature usually exists after some tens of milliseconds. */
const pauses = [
  { youngerMs: 1_000, pauseMs: 8 },
  { youngerMs: 3_000, pauseMs: 50 },
];
const longestPauseMs = 200;

/** Polls for all requests of this process that wait for their signature; those that are due share one statement. */
export class SignatureLooks {
  readonly #pool: Pick<pg.Pool, "query">;
  readonly #waits = new Set<Wait>();
  #looking = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(pool: Pick<pg.Pool, "query">) {
    this.#pool = pool;
  }

  /**
   * Waits until `ends` accepts a reading of the request, or until `ms` have passed.
   *
   * @returns the last reading; null when the request no longer exists.
   * @throws the database's error at the last reading.
   */
  async until(id: string, ends: (seen: Signing) => boolean, ms: number): Promise<Signing | null> {
    return await new Promise((done, failed) => {
      const now = performance.now();
      this.#waits.add({ id, ends, begun: now, untilMs: now + ms, nextMs: now, done, failed });
      this.#lookIn(0);
    });
  }

  #lookIn(ms: number): void {
    if (this.#looking) return;
    clearTimeout(this.#timer);
    // Outside the request that happens to start the timer: neither its tenant nor its span applies.
    this.#timer = withoutSpan(() => withTenantScope(() => setTimeout(() => void this.#look(), ms)));
  }

  async #look(): Promise<void> {
    this.#looking = true;
    const now = performance.now();
    const due = [...this.#waits].filter(({ nextMs }) => nextMs <= now + 1);
    try {
      const seen = await this.#read(due);
      for (const wait of due) {
        const found = seen.get(wait.id) ?? null;
        if (found !== null && !wait.ends(found) && performance.now() < wait.untilMs) continue;
        this.#waits.delete(wait);
        wait.done(found);
      }
    } catch (error) {
      // The requests may be signed all the same; their rows are read again.
      for (const wait of due) {
        if (performance.now() < wait.untilMs) continue;
        this.#waits.delete(wait);
        wait.failed(error);
      }
    }
    const ended = performance.now();
    for (const wait of due) wait.nextMs = ended + pauseAt(ended - wait.begun);
    this.#looking = false;
    if (this.#waits.size === 0) return;
    this.#lookIn(Math.max(0, Math.min(...[...this.#waits].map(({ nextMs }) => nextMs)) - ended));
  }

  async #read(due: readonly Wait[]): Promise<Map<string, Signing>> {
    if (due.length === 0) return new Map();
    const ids = [...new Set(due.map(({ id }) => id))];
    const { rows } = await this.#pool.query<Signing>("SELECT * FROM service.signing_of($1)", [ids]);
    return new Map(rows.map((row) => [row.id, row]));
  }
}

function pauseAt(ageMs: number): number {
  return pauses.find(({ youngerMs }) => ageMs < youngerMs)?.pauseMs ?? longestPauseMs;
}

const signWithinMs = 10_000;
/** An update waits for the one before it to be mined: two blocks, where blocks are slow. */
const mostTurnMs = 30_000;
/** A worker keeps trying requests asked for lately (submit-loop.ts). Older and held ones have to be asked for again. */
const askedSeconds = 5;
/** A request with a nonce, held again for the same reason, keeps its row; after this time it counts as tried. */
const triedSeconds = 1;

/**
 * Waits, as long as a request may last, until a worker has signed an accepted request: then its bytes are on disk, and
 * the relay finishes it whatever happens to this process, which signs nothing itself.
 *
 * @throws ServiceError `service_unavailable` when it was not signed within ten seconds, or two blocks for an update (it
 *   stays queued, and repeating the request asks for it again); `value_error` when it ended before it was signed.
 */
export async function untilSigned(
  services: RelayContext & { signatures: SignatureLooks },
  chain: Chain,
  intent: Intent,
): Promise<void> {
  const { id } = intent;
  if (isSigned({ state: intent.state, lead_state: null })) return;
  const look = async (ends: (seen: Signing) => boolean, ms: number) => {
    const seen = await services.signatures.until(id, ends, ms);
    if (!seen) throw lostRequest();
    return seen;
  };
  const before = await look(() => true, 0);
  if (isSigned(before)) return;
  const asksAgain = !isOver(before) && (before.hold_reason !== null || before.asked_seconds > askedSeconds);
  if (asksAgain) await askSignature(services.db, id);
  const ms = replacesRecord(intent.kind) ? await readTurnMs(services, chain) : signWithinMs;
  // A request that was held before this call is tried once more.
  const isHeld = (seen: Signing) =>
    seen.hold_reason !== null &&
    (!asksAgain || seen.version !== before.version || (seen.state === "assigned" && seen.asked_seconds > triedSeconds));
  const seen = await look((now) => isSigned(now) || isOver(now) || isHeld(now), ms);
  if (isSigned(seen)) return;
  // This commit waits for the disk, and so flushes that of the acceptance, which did not wait (accept-intent.ts).
  if (seen.version === 0 && seen.reason === null) await askSignature(services.db, id);
  throw isOver(seen) ? ended(seen) : notYet(seen);
}

async function askSignature(db: Kysely<Database>, id: string): Promise<void> {
  await sql`SELECT service.ask_signature(${id})`.execute(db);
}

/** A development chain makes its blocks at once or on command, so block times mean nothing there. */
async function readTurnMs(services: RelayContext, chain: Chain): Promise<number> {
  return chain.local
    ? signWithinMs
    : turnMs((await readChainPace(services.relay.nodes(chain), chain))?.blockMs ?? null);
}

/** How long an update waits for its turn, in milliseconds. @param blockMs the chain's block time; null: not known. */
export function turnMs(blockMs: bigint | null): number {
  return Math.min(Math.max(signWithinMs, 2 * Number(blockMs ?? 0n)), mostTurnMs);
}

const unsigned: ReadonlySet<IntentState> = new Set(["queued", "held", "assigned", "nonce_conflict", "retried"]);
const over: ReadonlySet<IntentState> = new Set(["cancelled", "expired"]);
/** States of a batch's lead in which its transaction is not signed yet, will not be mined, or did nothing. */
const leadWithout: ReadonlySet<IntentState> = new Set([...unsigned, "cancelled"]);

function isSigned({ state, lead_state }: Pick<Signing, "state" | "lead_state">): boolean {
  if (state === "batched") return lead_state !== null && !leadWithout.has(lead_state);
  return !unsigned.has(state) && !over.has(state);
}

function isOver({ state }: Signing): boolean {
  return over.has(state);
}

function whyNot({ state, lead_state, hold_reason, hold_detail, reason }: Signing): string {
  if (hold_reason !== null) return hold_detail ?? hold_reason;
  if (state === "nonce_conflict") return "its nonce was used up without its effect";
  if (state === "batched")
    return lead_state === "assigned"
      ? "the transaction that it shares is being signed"
      : "the transaction that it shared came to nothing; it goes on alone once that is final";
  return reason ?? "no worker has signed it yet";
}

function notYet(seen: Signing): ServiceError {
  const expires = seen.expires_at.toISOString();
  const reason = whyNot(seen);
  return new ServiceError(
    "service_unavailable",
    `accepted but not sent yet: ${reason}. It stays queued until ${expires}; repeat the same request to ask for its hash`,
    { retryAfterSeconds: 10, details: { deployment: seen.id, expiresAt: expires, reason } },
  );
}

/** For a request whose nonce was lost with its rows: the worker ends it or gives it another one (lifecycle.ts). */
export function withoutHash({ id }: Intent, state: Intent["state"]): ServiceError {
  return new ServiceError(
    "service_unavailable",
    `accepted, and its transaction is being looked for (${state}); repeat the same request to ask for its hash`,
    { retryAfterSeconds: 10, details: { deployment: id } },
  );
}

/** For a read of a request that was accepted a moment ago: it exists, unless its row has been lost since. */
export function asLost(error: unknown): never {
  throw error instanceof ServiceError && error.code === "not_found" ? lostRequest() : error;
}

function ended({ id, state }: Signing): ServiceError {
  return new ServiceError(
    "value_error",
    `this request ended as ${state} before it was sent; use a new Idempotency-Key for a new one`,
    { field: "idempotencyKey", details: { deployment: id } },
  );
}
