import { createHash } from "node:crypto";
import pg from "pg";
import { changeRelations } from "../db/admin/change-relations.ts";
import { type AnyField, contractFields, storedNames, tokenFields } from "./fields.ts";

/*
 * What depends on metadata alone is stored as rendered text in the metadata row: its key, and the JSON of every stored
 * field of the table, in order. A row that was rendered from other tables, or not at all, is rendered by the reading
 * statement, with the same expression.
 */

/** Separate the parts of an item, and items: no JSON text contains these characters. */
export const partMark = "\u0001";
export const itemMark = "\u0002";
/** Replaces the text of a row that this version has not rendered; see read-rendered.ts. */
export const staleMark = "\u0003";
export const sqlPartMark = "E'\\x01'";
export const sqlItemMark = "E'\\x02'";
const sqlStaleMark = "E'\\x03'";

/** What a statement does with a row that this version has not rendered: render it, or return `staleMark`. */
export type Stale = "render" | "tell";

export interface Rendering {
  table: "service.token_metadata" | "service.contract_metadata";
  fields: Record<string, AnyField>;
  /** The leading texts, over a row that has the key's columns. */
  key: (row: string) => string[];
  /** Identifies this version's expression. `~` is appended for a row with a text too long for lists. */
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

/** Joins texts with the part mark. */
export function joined(texts: readonly string[]): string {
  return texts.join(` || ${sqlPartMark} || `);
}

/** The rendered text of a row, as SQL over its alias. @param whole include texts that are too long for lists. */
function renderExpression({ fields, key }: Pick<Rendering, "fields" | "key">, row: string, whole: boolean): string {
  return joined([...key(row), ...storedNames(fields).map((name) => fields[name]?.sql?.(row, whole) ?? "''")]);
}

/** Whether lists leave out part of a row. */
function isShortened({ fields }: Rendering, row: string): string {
  const conditions = Object.values(fields).flatMap(({ tooLong }) => (tooLong ? [tooLong(row)] : []));
  return conditions.length === 0 ? "false" : `coalesce(${conditions.join(" OR ")}, false)`;
}

/**
 * The SQL that reads a row's text: the stored one if this version rendered it.
 *
 * @param key SQL of the key from another row, if the metadata row may be missing; all stored parts are empty then.
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

/** An arbitrary lock number: processes that start at the same time take turns. */
const lockKey = 7_241_903_162;

/**
 * Columns of both tables that no answer is rendered from: writing them does not render again. Columns that a later
 * version adds are not listed, so writing those does, and no text without them stays behind.
 */
const bookkeeping = [
  ...["chain_id", "status", "priority", "attempts", "next_attempt_at", "lease_id", "lease_until"],
  ...["wanted_block", "fetched_block", "attempted_at", "error_code", "metadata", "id_in_metadata"],
  ...["metadata_hash", "raw_cid", "file_type", "file_error", "warnings", "trait_warnings"],
  ...["contract_uri", "document", "uri_error"],
  ...["refresh_requested_at", "refresh_applied_at", "announced_at", "demanded_at", "queued_at", "rendered"],
];

/**
 * Installs triggers by which PostgreSQL renders metadata whenever it is stored, from this version's field tables.
 * Called at each start; it changes nothing if everything is in place.
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
