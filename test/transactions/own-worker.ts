import { setTimeout as sleep } from "node:timers/promises";
import type { Services } from "../../src/services.ts";
import { SignatureLooks, type Signing } from "../../src/transactions/accept/until-signed.ts";
import { getIntent, newestRetry } from "../../src/transactions/store/intents.ts";
import { createRelayMemory, type RelayMemory } from "../../src/transactions/track/loop-steps.ts";
import { sign } from "../../src/transactions/track/submit-loop.ts";
import { measuredSlowness } from "../setup/wait.ts";

const againMs = 50;

/**
 * For tests that drive a worker by hand: what a client of this process waits for is signed by the worker's own step, and
 * nothing else is, in as much more time as this machine takes. The loop that finds such requests has tests of its own (test/transactions/submit-loop.test.ts).
 */
export class OwnWorker extends SignatureLooks {
  readonly #worker: Services;
  readonly #memories = new Map<number, RelayMemory>();

  /** @param worker signs for the process; itself unless given. @returns the process. */
  static within(services: Services, worker = services): Services {
    services.signatures = new OwnWorker(worker);
    return services;
  }

  constructor(worker: Services) {
    super(worker.pool);
    this.#worker = worker;
  }

  override async until(id: string, ends: (seen: Signing) => boolean, ms: number): Promise<Signing | null> {
    let over = false;
    const work = ms > 0 ? this.#signUntil(id, () => over) : null;
    try {
      return await super.until(id, ends, ms * measuredSlowness);
    } finally {
      over = true;
      await work;
    }
  }

  async #signUntil(id: string, isOver: () => boolean): Promise<void> {
    const askedAt = new Date();
    while (!isOver()) {
      const intent = await getIntent(this.#worker.db, id).catch(() => null);
      if (!intent) return;
      const now = await newestRetry(this.#worker.db, intent);
      const chain = this.#worker.chains.find((each) => each.id === now.chain_id);
      if (!chain || !["queued", "held", "assigned"].includes(now.state)) return;
      const memory = this.#memories.get(chain.id) ?? createRelayMemory();
      this.#memories.set(chain.id, memory);
      await sign(this.#worker, chain, { ...now, asked_at: askedAt }, memory);
      await sleep(againMs);
    }
  }
}
