import { createHash } from "node:crypto";
import pg from "pg";
import { changeRelations } from "../db/admin/change-relations.ts";
import { type AnyField, contractFields, storedNames, tokenFields } from "./fields.ts";

/*
 * What depends on metadata alone is kept as rendered text in the row of the metadata: its key, and the JSON of every stored
 * field of the table, in its order. A row that was rendered by other tables, or not at all, is rendered by the statement that
 * reads it, with the same expression.
 */

/** Between the parts of an item, and between items: no JSON text has these characters in it. */
export const partMark = "\u0001";
export const itemMark = "\u0002";
/** In place of the text of a row that this version has not rendered; see read-rendered.ts. */
export const staleMark = "\u0003";
/** The same as SQL literals. */
export const sqlPartMark = "E'\\x01'";
export const sqlItemMark = "E'\\x02'";
const sqlStaleMark = "E'\\x03'";

/** What a statement does with a row that this version has not rendered: it renders it, or gives `staleMark`. */
export type Stale = "render" | "tell";

export interface Rendering {
  table: "service.token_metadata" | "service.contract_metadata";
  fields: Record<string, AnyField>;
  /** The texts in front, over a row that has the columns of the key. */
  key: (row: string) => string[];
  /** Tells this version's expression from others; a row with a text too long for lists has `~` behind it. */
  hash: string;
}

export const tokenRendering = renderingOf("service.token_metadata", tokenFields, (row) => [
  `encode(${row}.contract, 'hex')`,
  `${row}.token_id::text`,
]);
export const contractRendering = renderingOf("service.contract_metadata", contractFields, (row) => [
  `encode(${row}.address, 'hex')`,
]);

function renderingOf(table: Rendering["table"], fields: Record<string, AnyField>, key: Rendering["key"]): Rendering {
  const hash = createHash("sha256")
    .update(renderExpression({ fields, key }, "m", false))
    .digest("hex")
    .slice(0, 16);
  return { table, fields, key, hash };
}

/** One text of several, with the mark between them. */
export function joined(texts: readonly string[]): string {
  return texts.join(` || ${sqlPartMark} || `);
}

/** The rendered text of a row, as SQL over its alias. @param whole texts that are too long for lists too. */
function renderExpression({ fields, key }: Pick<Rendering, "fields" | "key">, row: string, whole: boolean): string {
  return joined([...key(row), ...storedNames(fields).map((name) => fields[name]?.sql?.(row, whole) ?? "''")]);
}

/** Whether lists leave something of a row out. */
function isShortened({ fields }: Rendering, row: string): string {
  const conditions = Object.values(fields).flatMap(({ tooLong }) => (tooLong ? [tooLong(row)] : []));
  return conditions.length === 0 ? "false" : `coalesce(${conditions.join(" OR ")}, false)`;
}

/**
 * The text that a statement reads of a row: the kept one where it is of this version.
 *
 * @param key of another row: there may be no row of metadata, of which every stored part is empty then.
 */
export function renderedText(
  rendering: Rendering,
  row: string,
  { whole, stale, key }: { whole: boolean; stale: Stale; key?: readonly string[] },
): string {
  const { fields, hash } = rendering;
  const kept = whole ? `${row}.rendered_as = '${hash}'` : `${row}.rendered_as IN ('${hash}', '${hash}~')`;
  const absent = key
    ? `WHEN ${row}.chain_id IS NULL THEN ${joined([...key, ...storedNames(fields).map(() => "''")])} `
    : "";
  const other = stale === "tell" ? sqlStaleMark : renderExpression(rendering, row, whole);
  return `CASE WHEN ${kept} THEN ${row}.rendered ${absent}ELSE ${other} END`;
}

/** Any constant does: processes that start at the same time take turns. */
const lockKey = 7_241_903_162;

/**
 * Columns of both tables that no answer is rendered from: writing them leaves the rendered text as it is. A column that a
 * later version adds is not among them, so that its writers cannot leave a text behind that lacks it.
 */
const bookkeeping = [
  ...["chain_id", "status", "priority", "attempts", "next_attempt_at", "lease_id", "lease_until"],
  ...["wanted_block", "fetched_block", "attempted_at", "error_code", "metadata", "id_in_metadata"],
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
