import pg from "pg";
import { changeRelations } from "../db/admin/change-relations.ts";
import { contractRendering, isShortened, type Rendering, renderExpression, tokenRendering } from "./rendered.ts";

/** Any constant does: processes that start at the same time take turns. */
const lockKey = 7_241_903_162;

/**
 * Columns of both tables that no answer is rendered from: writing them leaves the rendered text as it is. A column that a
 * later version adds is not among them, so that its writers cannot leave a text behind that lacks it.
 */
const bookkeeping = [
  ...["chain_id", "status", "priority", "attempts", "next_attempt_at"],
  ...[
    "lease_id",
    "lease_until",
    "wanted_block",
    "fetched_block",
    "attempted_at",
    "error_code",
    "metadata",
    "id_in_metadata",
  ],
  ...["metadata_hash", "raw_cid", "file_type", "file_error", "warnings", "trait_warnings"],
  ...["contract_uri", "document", "uri_error"],
  ...["refresh_requested_at", "refresh_applied_at", "announced_at", "demanded_at", "queued_at", "rendered"],
];

/**
 * Has PostgreSQL render metadata whenever it is stored, by the field tables of this version. Called at each start; it
 * changes nothing where everything is in place.
 */
export async function ensureRendering(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: "mintyard-rendering" });
  await client.connect();
  try {
    for (const rendering of [tokenRendering, contractRendering])
      await changeRelations(client, `rendering ${rendering.table}`, () => put(client, rendering), { turn: lockKey });
  } finally {
    await client.end();
  }
}

async function put(client: pg.Client, rendering: Rendering): Promise<void> {
  const { table } = rendering;
  const name = table.replace("service.", "render_");
  const body = bodyOf(rendering);
  const { rows } = await client.query<{ body: string | null; columns: string[]; watched: string[] | null }>(
    `SELECT (SELECT prosrc FROM pg_proc WHERE oid = to_regprocedure($1)) AS body,
       (SELECT array_agg(attname::text ORDER BY attname) FROM pg_attribute
        WHERE attrelid = $2::regclass AND attnum > 0 AND NOT attisdropped AND attname <> ALL ($4)) AS columns,
       (SELECT array_agg(a.attname::text ORDER BY a.attname) FROM pg_trigger t
        JOIN pg_attribute a ON a.attrelid = t.tgrelid AND a.attnum = ANY (t.tgattr::smallint[])
        WHERE t.tgrelid = $2::regclass AND t.tgname = $3) AS watched`,
    [`service.${name}()`, table, name, bookkeeping],
  );
  const [found] = rows;
  if (!found) return;
  if (found.body !== body)
    await client.query(
      `CREATE OR REPLACE FUNCTION service.${name}() RETURNS trigger LANGUAGE plpgsql AS ${pg.escapeLiteral(body)}`,
    );
  if (found.watched?.join() !== found.columns.join())
    await client.query(`CREATE OR REPLACE TRIGGER ${name}
      BEFORE INSERT OR UPDATE OF ${found.columns.map(pg.escapeIdentifier).join(", ")} ON ${table}
      FOR EACH ROW EXECUTE FUNCTION service.${name}()`);
}

function bodyOf(rendering: Rendering): string {
  return `BEGIN
  NEW.rendered := ${renderExpression(rendering, "NEW", false)};
  NEW.rendered_as := '${rendering.hash}' || CASE WHEN ${isShortened(rendering, "NEW")} THEN '~' ELSE '' END;
  RETURN NEW;
END`;
}
