/** The first server version with all the syntax that the migrations use. */
const knowsAll = 160_000;

/**
 * `IS JSON` for a server that lacks it; it stays after an upgrade, with the same answers. Not `PARALLEL SAFE`: parallel
 * workers have no subtransactions. Text that is nested too deep is an error in both.
 */
const isJson = `CREATE OR REPLACE FUNCTION service.is_json(document text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $is_json$
BEGIN
  PERFORM document::json;
  RETURN document IS NOT NULL;
EXCEPTION WHEN invalid_text_representation OR untranslatable_character THEN RETURN false;
END $is_json$;
`;

/**
 * Rewrites a migration for PostgreSQL 15, which has neither `STORAGE` in `CREATE TABLE` (there it only avoids
 * compression) nor `IS JSON`.
 *
 * @param server version number, such as 150008.
 * @returns the migration unchanged for a newer server.
 */
export function forServer(sql: string, server: number): string {
  if (server >= knowsAll) return sql;
  const plain = sql.replaceAll(" STORAGE EXTERNAL", "");
  if (!plain.includes("clean IS JSON")) return plain;
  const adapted = plain
    .replaceAll("clean IS JSON", "service.is_json(clean)")
    // Its caller cannot be PARALLEL SAFE then either.
    .replace(/(FUNCTION service\.readable_json\([^)]*\) RETURNS json LANGUAGE plpgsql IMMUTABLE) PARALLEL SAFE/, "$1");
  return isJson + adapted;
}
