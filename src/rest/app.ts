import type { HttpBindings } from "@hono/node-server";
import { Hono } from "hono";
import type { Caller, Session } from "../auth/caller.ts";

/** What a `/v0` route finds in its context. `c.env.incoming` is Node's request, for bodies that stream. */
export interface V0Env {
  Bindings: HttpBindings;
  Variables: { caller: Caller; session: Session; requestId: string; rateHeaders?: Record<string, string> };
}

export type V0App = Hono<V0Env>;

export function createV0App(): V0App {
  return new Hono<V0Env>({ strict: false });
}
