/** The first server that knows all that the migrations say. */
const knowsAll = 160_000;

/**
 * `IS JSON` for a server without it. One that is upgraded keeps the function, which gives the same answers. A parallel worker
 * has no subtransactions, hence no `PARALLEL SAFE`. Too deep a text is an error of both.
 */
const isJson = `CREATE OR REPLACE FUNCTION service.is_json(document text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $is_json$
BEGIN
  PERFORM document::json;
  RETURN document IS NOT NULL;
EXCEPTION WHEN invalid_text_representation OR untranslatable_character THEN RETURN false;
END $is_json$;
`;

/**
 * Says a migration in the words of PostgreSQL 15, which has neither `STORAGE` in `CREATE TABLE`, where it only saves a
 * compression, nor `IS JSON`.
 *
 * @param server number of its version, such as 150008.
 * @returns the migration as it is for a newer server.
 */
export function forServer(sql: string, server: number): string {
  if (server >= knowsAll) return sql;
  const plain = sql.replaceAll(" STORAGE EXTERNAL", "");
  if (!plain.includes("clean IS JSON")) return plain;
  const adapted = plain
    .replaceAll("clean IS JSON", "service.is_json(clean)")
    // What calls it runs where it may.
    .replace(/(FUNCTION service\.readable_json\([^)]*\) RETURNS json LANGUAGE plpgsql IMMUTABLE) PARALLEL SAFE/, "$1");
  return isJson + adapted;
}
