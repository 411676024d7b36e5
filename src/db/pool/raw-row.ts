import { JsonText } from "../../json/json-text.ts";

/** The first row of a result. Columns are counted from 0, in the order of the statement. */
export class RawRow {
  readonly #columns: readonly (Buffer | null)[];
  readonly #giveBack: (() => void) | undefined;

  /** @param giveBack the memory of the columns. */
  constructor(columns: readonly (Buffer | null)[], giveBack?: () => void) {
    this.#columns = columns;
    this.#giveBack = giveBack;
  }

  /** Gives back its memory: nothing may read its columns any more. Who never calls it leaves that to the collector. */
  release(): void {
    this.#giveBack?.();
  }

  /** Whether there is a value. */
  has(column: number): boolean {
    return this.#columns[column] != null;
  }

  /** Whether any of its values has this byte. */
  includes(byte: number): boolean {
    return this.#columns.some((value) => value?.includes(byte) === true);
  }

  text(column: number): string | null {
    return this.#columns[column]?.toString() ?? null;
  }

  /** The bytes of a text, one character for each: what is only passed on need not be decoded. */
  latin1(column: number): string | null {
    return this.#columns[column]?.toString("latin1") ?? null;
  }

  bytes(column: number): Buffer | null {
    return this.#columns[column] ?? null;
  }

  /** JSON that PostgreSQL wrote, as its bytes. */
  json(column: number): JsonText | null {
    const bytes = this.#columns[column];
    return bytes ? new JsonText([bytes]) : null;
  }
}

/** A row whose values came as texts. */
export function textRow(values: readonly (string | null)[]): RawRow {
  return new RawRow(values.map((value) => (value === null ? null : Buffer.from(value))));
}
