import { ipfsDir, loadConfig } from "../src/config.ts";
import { restoreBackup, takeBackup } from "../src/db/backup.ts";

/** `mintyard backup FOLDER` and `mintyard restore FOLDER`. */
export async function runBackup(verb: "backup" | "restore", folder: string): Promise<number> {
  const config = loadConfig();
  const run = verb === "backup" ? takeBackup : restoreBackup;
  const { takenAt, tables } = await run(config.databaseUrl, ipfsDir(config), folder);
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  process.stdout.write(`${JSON.stringify({ [verb]: folder, takenAt, tables: tables.length, rows })}\n`);
  return 0;
}
