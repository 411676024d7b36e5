import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrate } from "../../src/db/admin/migrate.ts";
import { createDatabase, createPool } from "../../src/db/pool/pool.ts";
import type { TestDatabase } from "../../test/setup/database.ts";
import { startPostgresOnFreePort } from "../../test/setup/postgres-on-free-port.ts";

/** A PostgreSQL of its own: the test database belongs to the test runner. */
export async function startOwnDatabase(): Promise<TestDatabase> {
  const dir = await mkdtemp(join(tmpdir(), "mintyard-bench-"));
  const { postgres } = await startPostgresOnFreePort(dir);
  await migrate(postgres.url);
  const pool = createPool(postgres.url, "bench");
  return {
    url: postgres.url,
    pool,
    db: createDatabase(pool),
    drop: async () => {
      if (!pool.ended) await pool.end();
      await postgres.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
