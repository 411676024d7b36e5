import type { Token } from "./document-world.ts";
import type { Expected } from "./expected-document.ts";
import type { Trait } from "./expected-traits.ts";
import { decimalOrder } from "./lenient-json.ts";

/** A filter that has to find a token by one of its traits, and the tokens that it finds by the reading. */
export interface Filter {
  token: Token;
  filter: { name: string; values?: string[]; min?: number; max?: number };
  ids: string[];
}

export const idsOf = (tokens: Iterable<Token>) => [...tokens].map(({ tokenId }) => String(tokenId)).toSorted();

/** A range around a number, as wide as a client's own numbers need it. */
function around(written: string): { min?: number; max?: number } {
  const number = Number(written);
  if (!Number.isFinite(number)) return number > 0 ? { min: 1e308 } : { max: -1e308 };
  const width = Math.abs(number) * 1e-9 || 1e-9;
  return { min: number - width, max: number + width };
}

/** Of each token two traits by their values, and one that is a number by a range around it. */
export function filtersOf(tokens: readonly (readonly [Token, Expected])[]): Filter[] {
  const having = (wanted: string, holds: (trait: Trait) => boolean) =>
    idsOf(
      tokens.flatMap(([token, { traits }]) =>
        traits.some((trait) => trait.name === wanted && holds(trait)) ? [token] : [],
      ),
    );
  return tokens.flatMap(([token, { traits }]) => {
    const filters: Filter[] = traits.slice(0, 2).map(({ name, value }) => ({
      ...{ token, filter: { name, values: [value] }, ids: having(name, (trait) => trait.value === value) },
    }));
    const numeric = traits.find(({ number }) => number !== null);
    if (!numeric?.number) return filters;
    const { min, max } = around(numeric.number);
    const isInRange = ({ number }: Trait) =>
      number !== null &&
      (min === undefined || decimalOrder(number, String(min)) >= 0) &&
      (max === undefined || decimalOrder(number, String(max)) <= 0);
    const range = { name: numeric.name, ...around(numeric.number) };
    return [...filters, { token, filter: range, ids: having(numeric.name, isInRange) }];
  });
}
