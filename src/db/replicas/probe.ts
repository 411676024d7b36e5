import pg from "pg";

const timeoutMs = 1_000;

/**
 * Asks one server one question again and again, over a connection of its own: a pool that is busy must not
 * look like a server that is dead.
 */
export class Probe<R extends pg.QueryResultRow> {
  readonly #url: string;
  readonly #name: string;
  readonly #text: string;
  #client: pg.Client | null = null;

  constructor(url: string, name: string, text: string) {
    this.#url = url;
    this.#name = name;
    this.#text = text;
  }

  /** @throws whatever keeps the server from answering within two seconds; the next question connects anew. */
  async ask(): Promise<R> {
    try {
      this.#client ??= await this.#connect();
      const { rows } = await this.#client.query<R>(this.#text);
      if (!rows[0]) throw new Error("no row");
      return rows[0];
    } catch (error) {
      await this.end();
      throw error;
    }
  }

  async end(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    // A socket that leads nowhere says no goodbye.
    await Promise.race([client?.end().catch(() => undefined), new Promise((done) => setTimeout(done, 200))]);
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: this.#url,
      application_name: this.#name,
      connectionTimeoutMillis: timeoutMs,
      query_timeout: timeoutMs,
      keepAlive: true,
    });
    // Raised when the server closes it between two questions; the next one finds out by itself.
    client.on("error", () => undefined);
    await client.connect();
    return client;
  }
}
