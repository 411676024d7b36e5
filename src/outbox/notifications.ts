import pg from "pg";

/** Channels: committed events, other work for a worker, and the proof that notifications arrive. */
export type Channel = "mintyard_events" | "mintyard_work" | "mintyard_proof";

/** A connection that receives notifications while it is open. */
export class Notifications {
  readonly #config: pg.ClientConfig;
  readonly #channels: Set<Channel>;
  readonly #heard: (channel: Channel | null) => void;
  #client: pg.Client | null = null;

  /** @param heard is also called, with null, when the connection is lost. */
  constructor(config: pg.ClientConfig, channels: readonly Channel[], heard: (channel: Channel | null) => void) {
    this.#config = config;
    this.#channels = new Set(channels);
    this.#heard = heard;
  }

  async open(): Promise<void> {
    if (this.#client) return;
    const client = new pg.Client({ ...this.#config, keepAlive: true });
    const lost = () => {
      if (this.#client === client) this.#client = null;
      this.#heard(null);
    };
    client.on("error", lost);
    client.on("end", lost);
    client.on("notification", ({ channel }) => this.#heard(channel as Channel));
    const heard = new Set(this.#channels);
    try {
      await client.connect();
      await client.query([...heard].map(begin).join("; "));
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
    this.#client = client;
    // Channels that were added while it connected.
    for (const channel of this.#channels) if (!heard.has(channel)) await client.query(begin(channel));
  }

  /** Starts or stops listening on a channel. */
  async hear(channel: Channel, hears: boolean): Promise<void> {
    if (hears === this.#channels.has(channel)) return;
    if (hears) this.#channels.add(channel);
    else this.#channels.delete(channel);
    await this.#client?.query(hears ? begin(channel) : end(channel));
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    await client?.end().catch(() => undefined);
  }
}

/** Notifications of events are only sent while there is a known listener (0450_events_heard.sql). */
function begin(channel: Channel): string {
  return channel === "mintyard_events" ? `SELECT service.hear_events(true); LISTEN ${channel}` : `LISTEN ${channel}`;
}

function end(channel: Channel): string {
  const stop = `UNLISTEN ${channel}`;
  return channel === "mintyard_events" ? `${stop}; SELECT service.hear_events(false)` : stop;
}
