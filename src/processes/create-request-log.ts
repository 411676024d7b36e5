import { RequestLog } from "../auth/request-log.ts";
import { urlShower } from "../server/shown-url.ts";
import type { Services } from "../services.ts";

/** The log of this process's requests, to be given to its server and to be flushed at the end; null: it is switched off. */
export function createRequestLog({ config, pool, logOnce }: Services): RequestLog | null {
  return config.requestLog ? new RequestLog(pool, logOnce, urlShower()) : null;
}
