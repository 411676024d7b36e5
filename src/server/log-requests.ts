import type { IncomingMessage, ServerResponse } from "node:http";
import { lastOwnerOf } from "../accounts/authenticate.ts";
import { ofApis } from "../admission/throttle-failures.ts";
import type { RequestLog } from "../auth/request-log.ts";
import { isStream } from "../http/event-streams.ts";
import { rawHeaderValues } from "../http/headers.ts";
import { notesOf } from "../http/request-notes.ts";
import type { Services } from "../services.ts";
import { methodOf, statusOf } from "./observe.ts";

/**
 * Puts a request of the APIs into the log once it is answered, if it is an account's. One that was refused before its key was
 * looked at is the account's whose key worked when it was last used here.
 *
 * @param startedAt when it arrived, of `performance.now()`.
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
    if (!caller || !log.takes(caller.accountId, now)) return;
    log.add({
      ...{ accountId: caller.accountId, keyId: caller.keyId, requestId, code, operation },
      ...{ method: methodOf(request), url: request.url ?? "" },
      // Clients leave a stream when they have seen enough.
      status: isStream(response) ? response.statusCode : statusOf(response),
      ...{ endedAt: Date.now(), ms: now - startedAt },
    });
  });
}
