import type { ObjectRef } from "@pothos/core";
import { type GraphQLResolveInfo, Kind, type SelectionSetNode } from "graphql";
import { ServiceError } from "../errors/errors.ts";
import { maxPageSize, type Page, type PageRequest } from "../nfts/page.ts";
import { type Builder, oncePerBuilder, type SchemaTypes } from "./builder.ts";

const defaultPageSize = 20;

const words = {
  first: `The number of items to return, from the beginning or after the cursor: 1 to ${maxPageSize}, ${defaultPageSize} by default.`,
  after: "A cursor from an earlier answer: return the items after it.",
};

/** Relay's connection arguments. */
export const pageArgs = oncePerBuilder((builder) =>
  builder.args((t) => ({
    first: t.int({ description: words.first }),
    after: t.string({ description: words.after }),
    last: t.int({
      description: `The number of items to return, from the end or before the cursor: 1 to ${maxPageSize}. Cannot be combined with first or after.`,
    }),
    before: t.string({
      description:
        "A cursor from an earlier answer: return the items before it. Cannot be combined with first or after.",
    }),
  })),
);

/** Relay's arguments for a list that is read forward only. */
export const forwardArgs = oncePerBuilder((builder) =>
  builder.args((t) => ({
    first: t.int({ defaultValue: defaultPageSize, description: words.first }),
    after: t.string({ description: words.after }),
  })),
);

export interface ConnectionArgs {
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}

/**
 * Reads Relay's four arguments: `first` with `after`, or `last` with `before`.
 *
 * @throws ServiceError `value_error` for a mixture of both, or a size outside 1 to 100.
 */
export function pageRequestOf(args: ConnectionArgs): PageRequest {
  const after = args.after ?? undefined;
  const before = args.before ?? undefined;
  const backward = args.last != null || before !== undefined;
  if (backward && (args.first != null || after !== undefined)) {
    throw new ServiceError("value_error", "use first with after, or last with before, not both", { field: "last" });
  }
  const size = args.first ?? args.last ?? defaultPageSize;
  if (size < 1 || size > maxPageSize) {
    const field = backward ? "last" : "first";
    throw new ServiceError("value_error", `${field} must be 1 to ${maxPageSize}`, { field });
  }
  return { size, after, before, fromEnd: backward };
}

/** What a read costs in addition to its fields, by the rows its statement may touch. 250 equals one `/v0` request. */
export const prices = {
  /** For each trait condition: it may be looked up for every token of a contract. */
  traitCondition: 150,
  /** Counts or sums over a whole contract. */
  report: 500,
  /** Ranked search matches. */
  search: 250,
  /** Distinct values of a list, each found by an index skip scan. */
  distinct: 100,
  /** The count of all distinct values, when requested. */
  counted: 150,
  /** Past state, replayed for each token of the page. */
  replay: 250,
} as const;

/** A connection costs its page size times the cost of an item. */
export function connectionCost(args: ConnectionArgs): { field: number; multiplier: number } {
  return { field: 5, multiplier: Math.min(Math.max(args.first ?? args.last ?? defaultPageSize, 1), maxPageSize) };
}

/** `connectionCost` plus a surcharge for an expensive statement. */
export function specialCost(args: ConnectionArgs, price: number): { field: number; multiplier: number } {
  const { field, multiplier } = connectionCost(args);
  return { field: field + price, multiplier };
}

function pageInfoOf(page: Page<unknown>) {
  return {
    hasNextPage: page.hasNext,
    hasPreviousPage: page.hasPrevious,
    startCursor: page.items[0]?.cursor ?? null,
    endCursor: page.items.at(-1)?.cursor ?? null,
  };
}

/** Which further parts of a token a read has to fetch for the selected fields. */
export function shownParts(info: GraphQLResolveInfo): { metadata: boolean; contract: boolean } {
  return { metadata: selects(info, "metadata"), contract: selects(info, "contract") };
}

/** Whether a field of this name is selected anywhere below the current one. Reads fetch only what is shown. */
export function selects(info: GraphQLResolveInfo, name: string): boolean {
  const visited = new Set<SelectionSetNode>();
  const search = (set: SelectionSetNode | undefined): boolean => {
    if (!set || visited.has(set)) return false;
    visited.add(set);
    return set.selections.some((selection) => {
      if (selection.kind === Kind.FIELD) return selection.name.value === name || search(selection.selectionSet);
      if (selection.kind === Kind.INLINE_FRAGMENT) return search(selection.selectionSet);
      return search(info.fragments[selection.name.value]?.selectionSet);
    });
  };
  return info.fieldNodes.some((node) => search(node.selectionSet));
}

type Schema = PothosSchemaTypes.ExtendDefaultTypes<SchemaTypes>;

/** A Relay connection over the given nodes: `edges`, the shortcut `nodes`, `pageInfo` and perhaps `totalCount`. */
export function connectionOf<T extends object, P extends Page<T>>(
  builder: Builder,
  name: string,
  node: ObjectRef<Schema, T>,
  total?: { description: string; of: (page: P) => bigint | null; price?: number },
  /** Adds edge fields: facts about a node that hold only within its list. */
  extend?: (edge: ObjectRef<Schema, { node: T; cursor: string }>) => void,
) {
  const edge = builder.objectRef<{ node: T; cursor: string }>(`${name}Edge`).implement({
    description: `One item of a list: a \`${node.name}\` and its cursor.`,
    fields: (t) => ({
      cursor: t.exposeString("cursor", { description: "The cursor of this item, for `after` or `before`." }),
      node: t.field({
        type: node,
        description: `The \`${node.name}\` at this position.`,
        resolve: (item) => item.node as never,
      }),
    }),
  });
  extend?.(edge);
  return builder.objectRef<P>(`${name}Connection`).implement({
    description: `A page of a list of \`${node.name}\` items.`,
    fields: (t) => ({
      // The connection's own cost already contains the page size.
      edges: t.field({
        type: [edge],
        description: "The items of this page in list order, each with its cursor.",
        complexity: { multiplier: 1 },
        resolve: (page) => page.items,
      }),
      nodes: t.field({
        type: [node],
        description: "The items of this page in list order, without cursors.",
        complexity: { multiplier: 1 },
        resolve: (page) => page.items.map((item) => item.node) as never,
      }),
      pageInfo: t.field({
        type: builder.pageInfoRef(),
        description: "Whether there are more items, and the cursors to request them.",
        resolve: pageInfoOf,
      }),
      ...(total && {
        totalCount: t.int({
          nullable: true,
          description: total.description,
          ...(total.price === undefined ? {} : { complexity: total.price }),
          resolve: (page) => {
            const count = total.of(page);
            return count === null ? null : Number(count);
          },
        }),
      }),
    }),
  });
}
