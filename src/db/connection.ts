import pg from "pg";

/**
 * Does work over a connection of its own, which ends with it.
 *
 * @param name shown in `pg_stat_activity` behind `mintyard-`.
 * @throws what `work` throws, and pg's errors when there is no connection.
 */
export async function withConnection<T>(
  databaseUrl: string,
  name: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: `mintyard-${name}` });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Does work in one transaction. A connection whose transaction failed is closed, which takes the transaction back. */
export async function inTransaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let failed = true;
  try {
    await client.query("BEGIN");
    const result = await work(client);
    await client.query("COMMIT");
    failed = false;
    return result;
  } finally {
    client.release(failed);
  }
}
