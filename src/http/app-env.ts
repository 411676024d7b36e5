import type { HttpBindings } from "@hono/node-server";

/** The cost of a GraphQL operation, as its answer reports it. */
export interface OperationCost {
  /** Page sizes times fields; more than `maxComplexity` is refused. */
  complexity: number;
  maxComplexity: number;
  /** Requests that it took from the rate. */
  requests: number;
}

/** The context of every handler. `c.env.incoming` is Node's request, for bodies that are streamed. */
export interface AppEnv {
  Bindings: HttpBindings;
  Variables: {
    requestId: string;
    graphqlCost?: OperationCost;
    /** For a GraphQL operation: false if it needs no key. */
    needsKey?: boolean;
    /** The caller's rate limit, as headers of the reply. */
    rateHeaders?: Record<string, string>;
  };
}
