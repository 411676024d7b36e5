import type { ObjectRef } from "@pothos/core";
import type { Page } from "../nfts/page.ts";
import type { Builder, SchemaTypes } from "./builder.ts";
import { pageInfoOf } from "./connection.ts";

type Schema = PothosSchemaTypes.ExtendDefaultTypes<SchemaTypes>;

/** A connection of the given nodes: `edges`, the shortcut `nodes`, `pageInfo` and, where there is one, `totalCount`. */
export function connectionOf<T extends object, P extends Page<T>>(
  builder: Builder,
  name: string,
  node: ObjectRef<Schema, T>,
  total?: { description: string; of: (page: P) => bigint | null; price?: number },
  /** Adds to the edges what is true of a node in its list only. */
  extend?: (edge: ObjectRef<Schema, { node: T; cursor: string }>) => void,
) {
  const edge = builder.objectRef<{ node: T; cursor: string }>(`${name}Edge`).implement({
    fields: (t) => ({
      cursor: t.exposeString("cursor"),
      node: t.field({ type: node, resolve: (item) => item.node as never }),
    }),
  });
  extend?.(edge);
  return builder.objectRef<P>(`${name}Connection`).implement({
    fields: (t) => ({
      // The page size is in the connection's own cost.
      edges: t.field({ type: [edge], complexity: { multiplier: 1 }, resolve: (page) => page.items }),
      nodes: t.field({
        type: [node],
        complexity: { multiplier: 1 },
        resolve: (page) => page.items.map((item) => item.node) as never,
      }),
      pageInfo: t.field({ type: builder.pageInfoRef(), resolve: pageInfoOf }),
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
