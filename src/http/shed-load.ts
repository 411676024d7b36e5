import type { MiddlewareHandler } from "hono";
import { ServiceError } from "../errors.ts";
import type { AppEnv } from "./app-env.ts";

/**
 * Refuses at once what could only wait: beyond `most` requests in this process, a further one would make
 * all of them late. Liveness is always answered.
 */
export function shedLoad(most: number): MiddlewareHandler<AppEnv> {
  let running = 0;
  return async (c, next) => {
    if (running >= most && c.req.path !== "/livez") {
      throw new ServiceError("service_unavailable", "this server is at its limit; try again in a moment", {
        retryAfterSeconds: 1,
      });
    }
    running += 1;
    try {
      await next();
    } finally {
      running -= 1;
    }
  };
}
