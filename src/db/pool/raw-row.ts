import { JsonText } from "../../json/json-text.ts";

/** The first row of a result. Columns are numbered from 0, in the statement's order. */
export class RawRow {
  readonly #columns: readonly (Buffer | null)[];
  readonly #giveBack: (() => void) | undefined;

  /** @param giveBack releases the columns' memory. */
  constructor(columns: readonly (Buffer | null)[], giveBack?: () => void) {
    this.#columns = columns;
    this.#giveBack = giveBack;
  }

  /** Releases its memory: the columns must not be read afterwards. Without this call, the garbage collector does it. */
  release(): void {
    this.#giveBack?.();
  }

  /** Whether the column is not NULL. */
  has(column: number): boolean {
    return this.#columns[column] != null;
  }

  /** Whether any of its values contains this byte. */
  includes(byte: number): boolean {
    return this.#columns.some((value) => value?.includes(byte) === true);
  }

  text(column: number): string | null {
    return this.#columns[column]?.toString() ?? null;
  }

  /** The bytes of a text, as one character each: text that is only passed on need not be decoded. */
  latin1(column: number): string | null {
    return this.#columns[column]?.toString("latin1") ?? null;
  }

  bytes(column: number): Buffer | null {
    return this.#columns[column] ?? null;
  }

  /** JSON written by PostgreSQL, as bytes. */
  json(column: number): JsonText | null {
    const bytes = this.#columns[column];
    return bytes ? new JsonText([bytes]) : null;
  }
}

/** A row made of values that arrived as strings. */
export function textRow(values: readonly (string | null)[]): RawRow {
  return new RawRow(values.map((value) => (value === null ? null : Buffer.from(value))));
}
