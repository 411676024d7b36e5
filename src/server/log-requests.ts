import type { IncomingMessage, ServerResponse } from "node:http";
import { lastOwnerOf } from "../accounts/authenticate.ts";
import { isSessionSecret } from "../accounts/sessions.ts";
import { ofApis } from "../admission/throttle-failures.ts";
import type { RequestLog } from "../auth/request-log.ts";
import { isStream } from "../http/event-streams.ts";
import { rawHeaderValues } from "../http/headers.ts";
import { notesOf } from "../http/request-notes.ts";
import type { Services } from "../services.ts";
import { methodOf, statusOf } from "./observe.ts";

/**
 * Logs an account's API request once it is answered. A request that was refused before its key was checked is logged
 * for the account whose key worked when it was last used here.
 *
 * @param startedAt when it arrived, by `performance.now()`.
 */
export function logWhenAnswered(
  services: Services,
  log: RequestLog,
  request: IncomingMessage,
  response: ServerResponse,
  startedAt: number,
): void {
  if (!ofApis.test(request.url ?? "")) return;
  response.once("close", () => {
    const { accountId, keyId, requestId = "", code = null, operation = null } = notesOf(request);
    const caller =
      accountId !== undefined && keyId !== undefined
        ? { accountId, keyId }
        : lastOwnerOf(services, rawHeaderValues(request, "authorization"));
    const now = performance.now();
    // A client that leaves a stream has not failed.
    const status = isStream(response) ? response.statusCode : statusOf(response);
    if (!caller) return;
    if (status < 400 && code === null && isRefresh(request, operation?.operation))
      return log.count(caller.accountId, now);
    if (!log.takes(caller.accountId, now)) return;
    log.add({
      ...{ accountId: caller.accountId, keyId: caller.keyId, requestId, code, operation },
      ...{ method: methodOf(request), url: request.url ?? "" },
      status,
      ...{ endedAt: Date.now(), ms: now - startedAt },
    });
  });
}

/**
 * A session's read, by which the console refreshes what it shows. There is one every second or two: logged, they would
 * bury the requests of the account's own programs and evict them within hours.
 */
function isRefresh(request: IncomingMessage, operation: string | undefined): boolean {
  if (!isSessionSecret(rawHeaderValues(request, "authorization")[0] ?? "")) return false;
  return request.method === "GET" || operation?.startsWith("query") === true;
}
