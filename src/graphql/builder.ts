import SchemaBuilder from "@pothos/core";
import ComplexityPlugin from "@pothos/plugin-complexity";
import RelayPlugin from "@pothos/plugin-relay";
import type { Caller } from "../auth/caller.ts";
import type { Services } from "../services.ts";
import { addScalars, type Scalars } from "./scalars.ts";

export interface GraphQLContext {
  services: Services;
  requestId: string;
  /** The account behind the request's key. @throws ServiceError of the `/v0` door's same check. */
  caller(): Promise<Caller>;
}

export interface SchemaTypes {
  Context: GraphQLContext;
  Scalars: Scalars;
  DefaultFieldNullability: false;
}

/** A builder with scalars and empty roots; each `add…` function of this folder puts its types in. */
export function createBuilder() {
  const builder = new SchemaBuilder<SchemaTypes>({
    plugins: [ComplexityPlugin, RelayPlugin],
    defaultFieldNullability: false,
    complexity: {
      defaultComplexity: 1,
      defaultListMultiplier: 20,
      limit: { complexity: 2_000, depth: 12, breadth: 200 },
    },
    relay: { cursorType: "String", clientMutationId: "omit" },
  });
  builder.queryType({ description: "Reads. Every list is a keyset connection." });
  builder.mutationType({ description: "Uploads and deployments." });
  builder.subscriptionType({ description: "Streams, served as server-sent events." });
  addScalars(builder);
  return builder;
}

export type Builder = ReturnType<typeof createBuilder>;
