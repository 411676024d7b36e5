import { createHash } from "node:crypto";
import { type AnyField, contractFields, storedNames, tokenFields } from "./fields.ts";

/*
 * What depends on metadata alone is kept as rendered text in the row of the metadata: the JSON of every stored field of the
 * table, in its order. A row that was rendered by other tables, or not at all, is rendered by the statement that reads it,
 * with the same expression.
 */

/** Between the parts of an item, and between items: no JSON text has these characters in it. */
export const partMark = "\u0001";
export const itemMark = "\u0002";
/** The same as SQL literals. */
export const sqlPartMark = "E'\\x01'";
export const sqlItemMark = "E'\\x02'";

export interface Rendering {
  table: "service.token_metadata" | "service.contract_metadata";
  fields: Record<string, AnyField>;
  /** Tells this version's expression from others; a row with a text too long for lists has `~` behind it. */
  hash: string;
}

export const tokenRendering = renderingOf("service.token_metadata", tokenFields);
export const contractRendering = renderingOf("service.contract_metadata", contractFields);

function renderingOf(table: Rendering["table"], fields: Record<string, AnyField>): Rendering {
  const hash = createHash("sha256")
    .update(renderExpression(fields, "m", false))
    .digest("hex")
    .slice(0, 16);
  return { table, fields, hash };
}

/** The rendered text of a row, as SQL over its alias. @param whole texts that are too long for lists too. */
export function renderExpression(fields: Record<string, AnyField>, row: string, whole: boolean): string {
  return storedNames(fields)
    .map((name) => fields[name]?.sql?.(row, whole) ?? "''")
    .join(` || ${sqlPartMark} || `);
}

/** Whether lists leave something of a row out. */
export function isShortened({ fields }: Rendering, row: string): string {
  const conditions = Object.values(fields).flatMap(({ tooLong }) => (tooLong ? [tooLong(row)] : []));
  return conditions.length === 0 ? "false" : `coalesce(${conditions.join(" OR ")}, false)`;
}

/** The text that a statement reads of a row: the kept one where it is of this version. */
export function renderedText({ fields, hash }: Rendering, row: string, whole: boolean): string {
  const kept = whole ? `${row}.rendered_as = '${hash}'` : `${row}.rendered_as IN ('${hash}', '${hash}~')`;
  return `CASE WHEN ${kept} THEN ${row}.rendered ELSE ${renderExpression(fields, row, whole)} END`;
}
