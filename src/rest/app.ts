import type { HttpBindings } from "@hono/node-server";
import { type Context, Hono } from "hono";
import type { Caller, Session } from "../auth/caller.ts";
import type { Services } from "../services.ts";
import { readJsonObject } from "./json-body.ts";

/** The context of `/v0` routes. `c.env.incoming` is Node's request, for bodies that are streamed. */
export interface V0Env {
  Bindings: HttpBindings;
  Variables: { caller: Caller; session: Session; requestId: string; rateHeaders?: Record<string, string> };
}

export type V0App = Hono<V0Env>;

/** The JSON object in a request's body; numbers keep their text. @throws ServiceError as `readJsonObject`. */
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
