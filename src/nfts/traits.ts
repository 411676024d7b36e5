import { type RawBuilder, sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { findChain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import { readForEach } from "./read-for-each.ts";

/** A condition on a token's traits. Members of one filter are combined with AND. */
export interface TraitFilter {
  and?: readonly TraitFilter[] | null | undefined;
  or?: readonly TraitFilter[] | null | undefined;
  not?: TraitFilter | null | undefined;
  /** The trait's name. Alone: the token has this trait, with any value. */
  name?: string | null | undefined;
  /** The value is one of these. */
  values?: readonly string[] | null | undefined;
  /** Numbers from `min` to `max`, both inclusive. */
  min?: number | null | undefined;
  max?: number | null | undefined;
}

/** The members `and`, `or`, `not` and conditions of a filter: they determine the statement's length. */
const maxNodes = 30;
/** Conditions per request, counting every value: each may be looked up for every token of a contract. */
export const maxTraitConditions = 8;

/** A filter as an SQL condition on tokens `k` (`token_id`): SQL pieces with a value after each but the last. */
export interface TraitCondition {
  texts: readonly string[];
  values: readonly unknown[];
}

/** The number of conditions in a filter: each value is one, and so is a range or a name alone. Stops past any bound. */
export function countConditions(filter: TraitFilter | null | undefined, depth = 0): number {
  if (!filter || depth > maxNodes) return 0;
  const inner = [...(filter.and ?? []), ...(filter.or ?? []), ...(filter.not ? [filter.not] : [])];
  const own = filter.name == null ? 0 : Math.max(1, filter.values?.length ?? 0);
  return inner.reduce((sum, node) => sum + countConditions(node, depth + 1), own);
}

/** @throws ServiceError `value_error` for more conditions than a request may have. */
export function checkConditions(conditions: number): void {
  if (conditions <= maxTraitConditions) return;
  throw new ServiceError(
    "value_error",
    `a request may have ${maxTraitConditions} trait conditions, every value counted, and this one has ${conditions}; ` +
      "ask for fewer, or in several requests",
    { field: "traits", details: { most: maxTraitConditions, conditions } },
  );
}

/** @throws ServiceError `value_error` for values without a name and for a filter that is too long. */
export function traitCondition(
  chainId: number,
  contract: Buffer | RawBuilder<Buffer> | symbol,
  filter: TraitFilter,
): TraitCondition {
  checkConditions(countConditions(filter));
  const texts = [""];
  const values: unknown[] = [];
  let nodes = 0;
  const write = (text: string, value?: unknown) => {
    texts[texts.length - 1] += text;
    if (value === undefined) return;
    values.push(value);
    texts.push("");
  };
  const visit = (node: TraitFilter): void => {
    nodes += 1;
    if (nodes > maxNodes) {
      throw new ServiceError("value_error", `a filter may have ${maxNodes} parts`, { field: "traits" });
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

export interface TraitSummary {
  name: string;
  tokenCount: bigint;
  values: { value: string; tokenCount: bigint }[];
}

/** Values shown per trait, the most frequent first. */
const shownValues = 100;
const shownTraits = 200;

/** How often each trait and value occurs in contracts of a chain, in one statement. An unknown contract has none. */
export async function listTraitsOfEach(
  services: Services,
  _caller: Caller,
  chainName: string,
  contracts: readonly string[],
): Promise<TraitSummary[][]> {
  const { id } = findChain(services.chains, chainName);
  const keys = contracts.map((contract) => ({ contract: toBytes(contract) }));
  const found = await readForEach(services, keys, ({ contract }) => traitsOf(id, contract), "report");
  return found.map((rows) => {
    const traits = [...Map.groupBy(rows, ({ name }) => name)].slice(0, shownTraits);
    return traits.map(([name, values]) => ({
      name,
      tokenCount: values[0]?.total ?? 0n,
      values: values.map(({ value, count }) => ({ value, tokenCount: count })),
    }));
  });
}

function traitsOf(chainId: number, contract: RawBuilder<unknown>) {
  return sql<{ name: string; value: string; count: bigint; total: bigint }>`
    SELECT name, value, count, total::bigint FROM (
      SELECT name, value, count, sum(count) OVER (PARTITION BY name) AS total,
        row_number() OVER (PARTITION BY name ORDER BY count DESC, value) AS place
      FROM (SELECT name, value, count(*) AS count FROM service.token_trait
        WHERE chain_id = ${chainId} AND contract = ${contract} GROUP BY name, value) counted) ranked
    WHERE place <= ${sql.lit(shownValues)} ORDER BY name, place
    LIMIT ${sql.lit(shownTraits * shownValues)}`;
}
