import { RequestLog } from "../auth/request-log.ts";
import { urlShower } from "../server/shown-url.ts";
import type { Services } from "../services.ts";

/** This process's request log, for its server, which also flushes it at the end; null: switched off. */
export function createRequestLog({ config, pool, logOnce }: Services): RequestLog | null {
  return config.requestLog ? new RequestLog(pool, logOnce, urlShower()) : null;
}
