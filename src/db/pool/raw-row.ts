import { JsonText } from "../../json/json-text.ts";

/** The first row of a result. Columns are counted from 0, in the order of the statement. */
export class RawRow {
  readonly #columns: readonly (Buffer[] | null)[];

  constructor(columns: readonly (Buffer[] | null)[]) {
    this.#columns = columns;
  }

  /** Whether there is a value. */
  has(column: number): boolean {
    return this.#columns[column] != null;
  }

  text(column: number): string | null {
    const pieces = this.#columns[column];
    if (!pieces) return null;
    const [first] = pieces;
    return pieces.length === 1 && first ? first.toString() : Buffer.concat(pieces).toString();
  }

  /** The bytes of a text, one character for each: what is only passed on need not be decoded. */
  latin1(column: number): string | null {
    const pieces = this.#columns[column];
    if (!pieces) return null;
    let text = "";
    // Each byte is a character, so pieces may be cut anywhere.
    for (const piece of pieces) text += piece.toString("latin1");
    return text;
  }

  /** The bytes of a text, in pieces. */
  bytes(column: number): readonly Buffer[] | null {
    return this.#columns[column] ?? null;
  }

  /** JSON that PostgreSQL wrote, as its bytes. */
  json(column: number): JsonText | null {
    const pieces = this.#columns[column];
    return pieces ? new JsonText(pieces) : null;
  }
}

/** A row whose values came as texts. */
export function textRow(values: readonly (string | null)[]): RawRow {
  return new RawRow(values.map((value) => (value === null ? null : [Buffer.from(value)])));
}
