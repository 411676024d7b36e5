import { countConditions, maxTraitConditions, type TraitFilter } from "../nfts/traits.ts";
import { oncePerBuilder } from "./builder.ts";
import { prices } from "./connection.ts";

/** Of a filter. More conditions than a request may have are refused as such, not for their price. */
export function traitPrice(filter: TraitFilter | null | undefined): number {
  return Math.min(countConditions(filter), maxTraitConditions + 1) * prices.traitCondition;
}

/** The input type of a condition on traits. */
export const traitFilter = oncePerBuilder((builder) => {
  const filter = builder.inputRef<TraitFilter>("TraitFilter");
  filter.implement({
    description:
      "A condition on a token's traits; members of one filter are joined by and. A request may have 8 conditions, every value counted.",
    fields: (t) => ({
      and: t.field({ type: [filter] }),
      or: t.field({ type: [filter] }),
      not: t.field({ type: filter }),
      name: t.string({ description: "The trait; alone: the token has it, with whatever value." }),
      values: t.stringList({ description: "One of these values, as they are written." }),
      min: t.float({ description: "For values that are numbers; inclusive, like max." }),
      max: t.float(),
    }),
  });
  return filter;
});
