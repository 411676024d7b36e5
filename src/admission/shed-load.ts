import type { MiddlewareHandler } from "hono";
import { ServiceError } from "../errors/errors.ts";
import type { AppEnv } from "../http/app-env.ts";
import type { Services } from "../services.ts";

interface Load {
  /** Requests under way in this process, on either path. */
  running: number;
}

const loads = new WeakMap<Services, Load>();

export function loadOf(services: Services): Load {
  const load = loads.get(services) ?? { running: 0 };
  loads.set(services, load);
  return load;
}

/**
 * Refuses a request at once when the process is at its limit of concurrent requests: a further one would make all of
 * them late. Liveness is always answered.
 */
export function shedLoad(services: Services): MiddlewareHandler<AppEnv> {
  const load = loadOf(services);
  const most = services.config.maxRequestsInFlight;
  return async (c, next) => {
    if (load.running >= most && c.req.path !== "/livez") {
      services.logOnce.write(
        "warn",
        "at its limit",
        { most },
        "MAX_REQUESTS_IN_FLIGHT is reached: requests are refused",
      );
      throw new ServiceError("service_unavailable", "this server is at its limit; try again in a moment", {
        retryAfterSeconds: 1,
      });
    }
    load.running += 1;
    try {
      await next();
    } finally {
      load.running -= 1;
    }
  };
}
