import { loadConfig } from "../src/config/config.ts";
import { takeBackup } from "../src/db/admin/backup.ts";
import { restoreBackup } from "../src/db/admin/restore.ts";
import { openCars } from "../src/ipfs/content-store.ts";

/** `mintyard backup FOLDER` and `mintyard restore FOLDER`. */
export async function runBackup(verb: "backup" | "restore", folder: string): Promise<number> {
  const config = loadConfig();
  const run = verb === "backup" ? takeBackup : restoreBackup;
  const cars = openCars(config);
  const done = await run(config.databaseUrl, cars, folder).finally(() => cars.close());
  const { takenAt, tables } = done;
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  process.stdout.write(`${JSON.stringify({ [verb]: folder, takenAt, tables: tables.length, rows })}\n`);
  if ("recorded" in done && !done.recorded)
    process.stderr.write(
      `the backup is whole, but this database could not be told: run SELECT service.record_backup('${takenAt}') on the primary, ` +
        "or its metric goes on counting from the backup before\n",
    );
  return 0;
}
