import pg from "pg";

/** What putting an older state back has taken away. */
export interface LostRows {
  intents: number;
  attempts: number;
}

/**
 * A copy of the service's tables, and the way back to it while the chain goes on: what an asynchronous failover or a
 * restored backup does to the relay. The copy lies in a schema of its own.
 */
export class OlderState {
  readonly #url: string;

  /** @param url of a superuser, past whatever cuts connections. */
  constructor(url: string) {
    this.#url = url;
  }

  /** Tables for the judge, which no older state takes back; a wallet that is closed for a moment only is noted there too. */
  async prepare(): Promise<void> {
    await this.#transaction(async (client) => {
      await client.query(`CREATE SCHEMA lost;
        CREATE TABLE lost.attempt (hash bytea PRIMARY KEY);
        CREATE TABLE lost.closed (addr bytea, state text, at timestamptz DEFAULT clock_timestamp());
        CREATE FUNCTION lost.record_closed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          INSERT INTO lost.closed (addr, state) VALUES (NEW.addr, NEW.state);
          RETURN NULL;
        END $$;
        CREATE TRIGGER wallet_closed AFTER UPDATE OF state ON service.relayer_wallet FOR EACH ROW
          WHEN (NEW.state IN ('halted', 'reconcile')) EXECUTE FUNCTION lost.record_closed()`);
    });
  }

  /** @returns the states in which wallets were closed, however shortly. */
  async closedWallets(): Promise<string[]> {
    return await this.#transaction(async (client) => {
      const { rows } = await client.query<{ state: string }>("SELECT state FROM lost.closed ORDER BY at");
      return rows.map(({ state }) => state);
    });
  }

  /** What is written within so long is lost. */
  async loseAll(ms: number): Promise<LostRows> {
    await this.take();
    await new Promise((done) => setTimeout(done, ms));
    return await this.putBack();
  }

  async take(): Promise<void> {
    await this.#transaction(async (client) => {
      await client.query("DROP SCHEMA IF EXISTS older CASCADE; CREATE SCHEMA older");
      for (const { name } of await tables(client))
        await client.query(`CREATE TABLE older.${name} AS TABLE service.${name}`);
      await client.query(`CREATE TABLE older."sequence values" AS
        SELECT sequencename AS name, last_value AS value FROM pg_sequences WHERE schemaname = 'service'`);
    });
  }

  /** Ends every connection, as a failover does. Bytes that are lost stay known to the judge (`lost.attempt`). */
  async putBack(): Promise<LostRows> {
    const name = new URL(this.#url).pathname.slice(1);
    try {
      return await this.#transaction(putBack, async (client) => {
        // Nobody may be connected: who waits for a lock meanwhile would find the tables empty.
        await this.#allowConnections(name, false);
        await endOthers(client);
      });
    } finally {
      await this.#allowConnections(name, true);
    }
  }

  async #allowConnections(database: string, allowed: boolean): Promise<void> {
    const client = new pg.Client({ connectionString: this.#url.replace(/[^/]*$/, "postgres") });
    client.on("error", () => undefined);
    await client.connect();
    try {
      await client.query(`ALTER DATABASE ${database} ALLOW_CONNECTIONS ${allowed}`);
    } finally {
      await client.end();
    }
  }

  /** @param before runs ahead of the transaction, whose view of the rows is of its first statement. */
  async #transaction<T>(
    work: (client: pg.Client) => Promise<T>,
    before: (client: pg.Client) => Promise<void> = async () => undefined,
  ): Promise<T> {
    const client = new pg.Client({ connectionString: this.#url });
    client.on("error", () => undefined);
    await client.connect();
    try {
      await before(client);
      await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL session_replication_role = replica");
      const result = await work(client);
      await client.query("COMMIT");
      return result;
    } finally {
      await client.end();
    }
  }
}

async function endOthers(client: pg.Client): Promise<void> {
  await client.query(
    `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`,
  );
}

async function putBack(client: pg.Client): Promise<LostRows> {
  const all = await tables(client);
  await client.query(`LOCK TABLE ${all.map(({ name }) => `service.${name}`).join(", ")} IN ACCESS EXCLUSIVE MODE`);
  await client.query(`INSERT INTO lost.attempt
    SELECT hash FROM service.attempt a WHERE NOT EXISTS (SELECT FROM older.attempt o WHERE o.hash = a.hash)
    ON CONFLICT DO NOTHING`);
  const { rows } = await client.query<LostRows>(`SELECT
    (SELECT count(*) FROM service.intent i WHERE NOT EXISTS (SELECT FROM older.intent o WHERE o.id = i.id))::int AS intents,
    (SELECT count(*) FROM service.attempt a WHERE NOT EXISTS (SELECT FROM older.attempt o WHERE o.hash = a.hash))::int AS attempts`);
  await client.query(`TRUNCATE ${all.map(({ name }) => `service.${name}`).join(", ")}`);
  for (const { name, columns } of all)
    await client.query(
      `INSERT INTO service.${name} (${columns}) OVERRIDING SYSTEM VALUE SELECT ${columns} FROM older.${name}`,
    );
  await client.query(
    `SELECT setval(format('service.%I', name)::regclass, value) FROM older."sequence values" WHERE value IS NOT NULL`,
  );
  return rows[0] ?? { intents: 0, attempts: 0 };
}

async function tables(client: pg.Client): Promise<{ name: string; columns: string }[]> {
  const { rows } = await client.query<{ name: string; columns: string }>(
    `SELECT quote_ident(c.relname) AS name, string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) AS columns
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
     WHERE c.relnamespace = 'service'::regnamespace AND c.relkind = 'r' GROUP BY c.oid, c.relname ORDER BY c.oid`,
  );
  return rows;
}
