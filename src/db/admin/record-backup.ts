import type pg from "pg";

/**
 * Records in the database that a backup was taken, for `mintyard_backup_age_seconds`.
 *
 * @returns false: this server takes no writes, or the login may not write. The backup is whole all the same.
 */
export async function recordBackup(client: pg.ClientBase, takenAt: Date): Promise<boolean> {
  return await client.query("SELECT service.record_backup($1)", [takenAt]).then(
    () => true,
    () => false,
  );
}
