import { setTimeout as sleep } from "node:timers/promises";
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
  done: (seen: Signing | null) => void;
  failed: (error: unknown) => void;
}

/** As a rule the signature is there after some dozens of milliseconds. */
const pauses = [
  { youngerMs: 1_000, pauseMs: 8 },
  { youngerMs: 3_000, pauseMs: 50 },
];
const longestPauseMs = 200;

/** Looks for all requests of this process that wait for their signature, in one statement. */
export class SignatureLooks {
  readonly #pool: Pick<pg.Pool, "query">;
  readonly #waits = new Set<Wait>();
  #looking = false;

  constructor(pool: Pick<pg.Pool, "query">) {
    this.#pool = pool;
  }

  /**
   * Waits until a look at a request ends it, or for so long.
   *
   * @returns the last look; null when there is no such request any more.
   * @throws what the database says.
   */
  async until(id: string, ends: (seen: Signing) => boolean, ms: number): Promise<Signing | null> {
    return await new Promise((done, failed) => {
      const begun = performance.now();
      this.#waits.add({ id, ends, begun, untilMs: begun + ms, done, failed });
      if (this.#looking) return;
      this.#looking = true;
      // Not within the request that happens to be the first: neither its tenant nor its span.
      void withoutSpan(() => withTenantScope(() => this.#look()));
    });
  }

  async #look(): Promise<void> {
    while (this.#waits.size > 0) {
      const waits = [...this.#waits];
      try {
        const seen = await this.#read([...new Set(waits.map(({ id }) => id))]);
        const now = performance.now();
        for (const wait of waits) {
          const found = seen.get(wait.id) ?? null;
          if (found !== null && !wait.ends(found) && now < wait.untilMs) continue;
          this.#waits.delete(wait);
          wait.done(found);
        }
      } catch (error) {
        for (const wait of waits) {
          this.#waits.delete(wait);
          wait.failed(error);
        }
      }
      await sleep(this.#pauseMs());
    }
    this.#looking = false;
  }

  async #read(ids: readonly string[]): Promise<Map<string, Signing>> {
    const { rows } = await this.#pool.query<Signing>("SELECT * FROM service.signing_of($1)", [ids]);
    return new Map(rows.map((row) => [row.id, row]));
  }

  #pauseMs(): number {
    const youngest = Math.max(...[...this.#waits].map(({ begun }) => begun));
    const ageMs = performance.now() - youngest;
    return pauses.find(({ youngerMs }) => ageMs < youngerMs)?.pauseMs ?? longestPauseMs;
  }
}
