import { type RawBuilder, sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { findChain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import { ServiceError } from "../errors.ts";
import type { Services } from "../services.ts";

/** A condition on a token's traits. Members of one filter are joined by and. */
export interface TraitFilter {
  and?: readonly TraitFilter[] | null | undefined;
  or?: readonly TraitFilter[] | null | undefined;
  not?: TraitFilter | null | undefined;
  /** The trait's name; alone: the token has it, with whatever value. */
  name?: string | null | undefined;
  /** One of these values. */
  values?: readonly string[] | null | undefined;
  /** Numbers from `min` to `max`, both inclusive. */
  min?: number | null | undefined;
  max?: number | null | undefined;
}

const maxConditions = 30;

/** A filter's condition over the tokens of alias `k` (`token_id`): pieces of text with a value behind each but the last. */
export interface TraitCondition {
  texts: readonly string[];
  values: readonly unknown[];
}

/** @throws ServiceError `value_error` for values without a name and for more than 30 conditions. */
export function traitCondition(chainId: number, contract: Buffer, filter: TraitFilter): TraitCondition {
  const texts = [""];
  const values: unknown[] = [];
  let conditions = 0;
  const write = (text: string, value?: unknown) => {
    texts[texts.length - 1] += text;
    if (value === undefined) return;
    values.push(value);
    texts.push("");
  };
  const visit = (node: TraitFilter): void => {
    conditions += 1;
    if (conditions > maxConditions) {
      throw new ServiceError("value_error", `a filter may have ${maxConditions} conditions`, { field: "traits" });
    }
    const { and, or, not } = node;
    write("(true");
    for (const inner of and ?? []) {
      write(" AND ");
      visit(inner);
    }
    if (or) {
      write(" AND (");
      for (const [index, inner] of or.entries()) {
        if (index > 0) write(" OR ");
        visit(inner);
      }
      write(or.length === 0 ? "false)" : ")");
    }
    if (not) {
      write(" AND NOT ");
      visit(not);
    }
    own(node);
    write(")");
  };
  const own = ({ name, values, min, max }: TraitFilter): void => {
    if (name == null) {
      if (values == null && min == null && max == null) return;
      throw new ServiceError("value_error", "values, min and max need the trait's name", { field: "traits" });
    }
    write(` AND EXISTS (SELECT FROM service.token_trait r WHERE r.chain_id = ${chainId} AND r.contract = `, contract);
    write(" AND r.token_id = k.token_id AND r.name = ", name);
    const bounded = (text: string, value: unknown, type: string) => {
      if (value == null) return;
      write(text, value);
      write(type);
    };
    bounded(" AND r.value = ANY (", values && [...values], "::text[])");
    bounded(" AND r.number >= ", min == null ? null : String(min), "::numeric");
    bounded(" AND r.number <= ", max == null ? null : String(max), "::numeric");
    write(")");
  };
  visit(filter);
  return { texts, values };
}

/** The condition for a statement built by Kysely. */
export function traitExpression({ texts, values }: TraitCondition): RawBuilder<boolean> {
  return sql.join(
    texts.map((text, index) => (index < values.length ? sql`${sql.raw(text)}${values[index]}` : sql.raw(text))),
    sql``,
  ) as RawBuilder<boolean>;
}

export interface TraitSummary {
  name: string;
  tokenCount: bigint;
  values: { value: string; tokenCount: bigint }[];
}

/** Values shown of a trait, the most frequent first. */
const shownValues = 100;
const shownTraits = 200;

/** How often each trait and value occurs in a contract's metadata. An unknown contract has none. */
export async function listTraits(
  services: Services,
  _caller: Caller,
  input: { chain: string; contract: string },
): Promise<TraitSummary[]> {
  const chain = findChain(services.chains, input.chain);
  const { rows } = await sql<{ name: string; value: string; count: bigint; total: bigint }>`
    SELECT name, value, count, total::bigint FROM (
      SELECT name, value, count, sum(count) OVER (PARTITION BY name) AS total,
        row_number() OVER (PARTITION BY name ORDER BY count DESC, value) AS place
      FROM (SELECT name, value, count(*) AS count FROM service.token_trait
        WHERE chain_id = ${chain.id} AND contract = ${toBytes(input.contract)} GROUP BY name, value) counted) ranked
    WHERE place <= ${sql.lit(shownValues)} ORDER BY name, place
    LIMIT ${sql.lit(shownTraits * shownValues)}`.execute(services.index.db);
  const traits = new Map<string, TraitSummary>();
  for (const { name, value, count, total } of rows) {
    const trait = traits.get(name) ?? { name, tokenCount: total, values: [] };
    trait.values.push({ value, tokenCount: count });
    traits.set(name, trait);
  }
  return [...traits.values()].slice(0, shownTraits);
}
