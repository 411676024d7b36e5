// `npm run -s mintyard -- dev make upgrade-dump VERSION [NEWEST]`: the dump that the upgrade test starts from. It has the
// migrations up to the file NEWEST, without one all of them.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { takeBackup } from "../../src/db/admin/backup.ts";
import { migrate, migrationNames } from "../../src/db/admin/migrate.ts";
import { startPostgres } from "../../src/embedded/postgres.ts";
import { freePorts } from "../../src/free-port.ts";
import { LocalCars } from "../../src/ipfs/local-cars.ts";
import { packDump } from "./dump.ts";
import { seed } from "./seed.ts";

const [version, newest] = process.argv.slice(2);
if (!version || !/^\d+\.\d+\.\d+$/.test(version)) {
  process.stderr.write("make upgrade-dump: VERSION is missing, such as 0.2.0\n");
  process.exit(2);
}
const names = await migrationNames();
if (newest && !names.includes(newest)) {
  process.stderr.write(`make upgrade-dump: there is no migration ${newest}\n`);
  process.exit(2);
}
const dir = await mkdtemp(join(tmpdir(), "mintyard-dump-"));
const [port = 0] = await freePorts(1);
const server = await startPostgres(join(dir, "postgres"), port);
try {
  await migrate(server.url, { only: new Set(names.filter((name) => !newest || name <= newest)) });
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  try {
    await client.query("BEGIN");
    await seed(client);
    await client.query("COMMIT");
  } finally {
    await client.end();
  }
  const { tables, migrations } = await takeBackup(server.url, new LocalCars(join(dir, "ipfs")), join(dir, "backup"));
  const bytes = await packDump(join(dir, "backup"), version);
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  process.stdout.write(
    `${JSON.stringify({ version, migrations: migrations.length, tables: tables.length, rows, bytes })}\n`,
  );
} finally {
  await server.stop();
  await rm(dir, { recursive: true, force: true });
}
