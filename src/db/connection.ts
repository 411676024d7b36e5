import pg from "pg";

/**
 * Runs `work` on a connection of its own and closes the connection afterwards.
 *
 * @param name shown in `pg_stat_activity` after `mintyard-`.
 * @throws what `work` throws, and pg's errors when it cannot connect.
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

/** Runs `work` in one transaction. If the transaction fails, its connection is closed, which rolls it back. */
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
