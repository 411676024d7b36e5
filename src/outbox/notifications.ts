import pg from "pg";

const channel = "mintyard_events";

/** A connection that hears of new events, while it is open. */
export class Notifications {
  readonly #config: pg.ClientConfig;
  readonly #heard: () => void;
  #client: pg.Client | null = null;

  constructor(config: pg.ClientConfig, heard: () => void) {
    this.#config = config;
    this.#heard = heard;
  }

  async open(): Promise<void> {
    if (this.#client) return;
    const client = new pg.Client({ ...this.#config, keepAlive: true });
    const lost = () => {
      if (this.#client === client) this.#client = null;
      this.#heard();
    };
    client.on("error", lost);
    client.on("end", lost);
    client.on("notification", this.#heard);
    try {
      await client.connect();
      await client.query(`LISTEN ${channel}`);
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
    this.#client = client;
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    await client?.end().catch(() => undefined);
  }
}
