import type { Server, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { type Listed, OpenList } from "./open-list.ts";

interface OpenAnswer extends Listed {
  response: ServerResponse;
}

/** Graceful shutdown of a process: readiness fails first, so that load balancers send no new requests. */
export class Drain {
  /** Set by the signal: `/readyz` answers 503, and every answer closes its connection. */
  draining = false;
  readonly #open = new OpenList<OpenAnswer>();
  readonly #endings: (() => void)[] = [];

  /** Tracks a server's answers; call it once, before the server listens. */
  watch(server: Server): void {
    server.prependListener("request", (_request, response) => {
      if (this.draining) response.shouldKeepAlive = false;
      const answer = { response, place: 0 };
      this.#open.add(answer);
      response.on("close", () => this.#open.remove(answer));
    });
  }

  /** Registers a function that ends endless answers, called once no new connections are accepted. */
  whenClosing(end: () => void): void {
    this.#endings.push(end);
  }

  /**
   * Closes a server without failing requests: serves for `delayMs` more while readiness is 503, then accepts no
   * connections, and waits up to `graceMs` for running answers.
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
