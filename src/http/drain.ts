import type { Server, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { type Listed, OpenList } from "./open-list.ts";

interface OpenAnswer extends Listed {
  response: ServerResponse;
}

/** How a process that is to end leaves: readiness says so first, so that load balancers send nothing new. */
export class Drain {
  /** From the signal on: `/readyz` answers 503, and every answer closes its connection. */
  draining = false;
  readonly #open = new OpenList<OpenAnswer>();
  readonly #endings: (() => void)[] = [];

  /** Watches a server's answers; call it once, before it listens. */
  watch(server: Server): void {
    server.prependListener("request", (_request, response) => {
      if (this.draining) response.shouldKeepAlive = false;
      const answer = { response, place: 0 };
      this.#open.add(answer);
      response.on("close", () => this.#open.remove(answer));
    });
  }

  /** Ends what would go on without an end, as soon as no connection is taken any more. */
  whenClosing(end: () => void): void {
    this.#endings.push(end);
  }

  /**
   * Ends a server without failing anybody: serves on for `delayMs` while readiness is 503, then takes no
   * connection any more, and waits up to `graceMs` for the answers under way.
   */
  async close(server: Server, { delayMs, graceMs }: { delayMs: number; graceMs: number }): Promise<void> {
    this.draining = true;
    for (const { response } of this.#open.all()) response.shouldKeepAlive = false;
    await sleep(delayMs);
    const closed = new Promise((done) => server.close(done));
    for (const end of this.#endings) end();
    const impatient = setTimeout(() => server.closeAllConnections(), graceMs);
    await closed;
    clearTimeout(impatient);
  }
}
