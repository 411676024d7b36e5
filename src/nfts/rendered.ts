import { createHash } from "node:crypto";
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
export function renderExpression(
  { fields, key }: Pick<Rendering, "fields" | "key">,
  row: string,
  whole: boolean,
): string {
  return joined([...key(row), ...storedNames(fields).map((name) => fields[name]?.sql?.(row, whole) ?? "''")]);
}

/** Whether lists leave something of a row out. */
export function isShortened({ fields }: Rendering, row: string): string {
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
