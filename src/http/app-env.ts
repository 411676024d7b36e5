import type { HttpBindings } from "@hono/node-server";

/** What a GraphQL operation cost, as its answer says. */
export interface OperationCost {
  /** Page sizes times fields; more than `maxComplexity` is refused. */
  complexity: number;
  maxComplexity: number;
  /** What it took of the rate. */
  requests: number;
}

/** What every handler finds in its context. `c.env.incoming` is Node's request, for bodies that stream. */
export interface AppEnv {
  Bindings: HttpBindings;
  Variables: {
    requestId: string;
    graphqlCost?: OperationCost;
    /** Of a GraphQL operation: false for what everybody may ask. */
    needsKey?: boolean;
    /** What the reply shows of the caller's rate. */
    rateHeaders?: Record<string, string>;
  };
}
