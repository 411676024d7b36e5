import type { HttpBindings } from "@hono/node-server";

/** What every handler finds in its context. `c.env.incoming` is Node's request, for bodies that stream. */
export interface AppEnv {
  Bindings: HttpBindings;
  Variables: {
    requestId: string;
    /** What the GraphQL operation took of the rate, in requests. */
    graphqlCost?: number;
    /** What the reply shows of the caller's rate. */
    rateHeaders?: Record<string, string>;
  };
}
