import type pg from "pg";
import type { IntentState } from "../../db/tables/relay.ts";
import { withTenantScope } from "../../db/tenancy/tenant.ts";
import { withoutSpan } from "../../telemetry/span.ts";

/** How far a request is on its way to a signature (`service.signing_of`). */
export interface Signing {
  id: string;
  /** Of its newest retry, like all that follows. */
  state: IntentState;
  /** Of a member of a batch: of the request whose transaction it is in. */
  lead_state: IntentState | null;
  version: number;
  expires_at: Date;
  /** Since its client asked for it. */
  asked_seconds: number;
  hold_reason: string | null;
  hold_detail: string | null;
  /** Why the last try came to nothing, where it is not held for it. */
  reason: string | null;
}

interface Wait {
  id: string;
  ends: (seen: Signing) => boolean;
  begun: number;
  untilMs: number;
  /** When its row is looked at next. */
  nextMs: number;
  done: (seen: Signing | null) => void;
  failed: (error: unknown) => void;
}

/** As a rule the signature is there after some dozens of milliseconds. */
const pauses = [
  { youngerMs: 1_000, pauseMs: 8 },
  { youngerMs: 3_000, pauseMs: 50 },
];
const longestPauseMs = 200;

/** Looks for all requests of this process that wait for their signature, those that are due in one statement. */
export class SignatureLooks {
  readonly #pool: Pick<pg.Pool, "query">;
  readonly #waits = new Set<Wait>();
  #looking = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(pool: Pick<pg.Pool, "query">) {
    this.#pool = pool;
  }

  /**
   * Waits until a look at a request ends it, or for so long.
   *
   * @returns the last look; null when there is no such request any more.
   * @throws what the database said at the last look.
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
    // Not within the request that happens to be the first: neither its tenant nor its span.
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
      // What waits may be signed all the same; it is looked at again.
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
