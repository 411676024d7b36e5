import { hex } from "ponder";
import type { Hex } from "viem";

/** A `bytea` value as PostgreSQL writes it: `\\x` and hex digits. */
export type Bytea = `\\x${string}`;

export function toBytea(value: Hex): Bytea {
  return `\\x${value.slice(2)}`;
}

/**
 * A `bytea` column whose values are strings all the way to PostgreSQL.
 *
 * Ponder's own `bytes()` turns each value of each row into a Buffer, back, through `structuredClone`, and into hex
 * again. Ponder copies a row cheaply only when its columns say that they hold strings or numbers, which a column of
 * `customType` does not; hence a `hex()` column with its conversions replaced.
 */
export function bytea() {
  const builder = hex();
  const build: unknown = Reflect.get(builder, "build");
  if (typeof build !== "function") throw new Error("this version of drizzle makes columns in another way");
  const asIs = (value: Bytea) => value;
  const conversions = { getSQLType: () => "bytea", mapToDriverValue: asIs, mapFromDriverValue: asIs };
  Reflect.set(builder, "build", (table: unknown) => Object.assign(Reflect.apply(build, builder, [table]), conversions));
  return builder.$type<Bytea>();
}
