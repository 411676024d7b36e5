import { loadConfig } from "../src/config/config.ts";
import { createDatabase, createPool } from "../src/db/pool/pool.ts";
import { explainIntent } from "../src/transactions/accept/explain-intent.ts";

/** Prints the whole history of one request. */
export async function showDeployment(wanted: string): Promise<number> {
  const lines = await withDatabase((db) => explainIntent(db, wanted));
  if (!lines) throw new Error(`nothing is known as ${wanted}: give an id, a transaction hash or an address`);
  process.stdout.write(`${lines.join("\n")}\n`);
  return 0;
}

async function withDatabase<T>(work: (db: ReturnType<typeof createDatabase>) => Promise<T>): Promise<T> {
  const pool = createPool(loadConfig().databaseUrl, "operator", 1);
  try {
    return await work(createDatabase(pool));
  } finally {
    await pool.end();
  }
}
