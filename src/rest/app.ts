import type { HttpBindings } from "@hono/node-server";
import { type Context, Hono } from "hono";
import type { Caller, Session } from "../auth/caller.ts";
import type { Services } from "../services.ts";
import { readJsonObject } from "./json-body.ts";

/** What a `/v0` route finds in its context. `c.env.incoming` is Node's request, for bodies that stream. */
export interface V0Env {
  Bindings: HttpBindings;
  Variables: { caller: Caller; session: Session; requestId: string; rateHeaders?: Record<string, string> };
}

export type V0App = Hono<V0Env>;

/** The JSON object in a request's body, with numbers as texts. @throws ServiceError as `readJsonObject`. */
export async function bodyOf(
  c: Context<V0Env>,
  services: Services,
  mostValues?: number,
): Promise<Record<string, unknown>> {
  const { accountId: account } = c.get("caller");
  return await readJsonObject(c.env.incoming, services.config.limits.jsonBodyBytes, { account, mostValues });
}

export function createV0App(): V0App {
  return new Hono<V0Env>({ strict: false });
}
