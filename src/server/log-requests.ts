import type { IncomingMessage, ServerResponse } from "node:http";
import { lastOwnerOf } from "../accounts/authenticate.ts";
import { ofApis } from "../admission/throttle-failures.ts";
import { RequestLog, type ShownUrl } from "../auth/request-log.ts";
import { isStream } from "../http/event-streams.ts";
import { rawHeaderValues } from "../http/headers.ts";
import { notesOf } from "../http/request-notes.ts";
import { queryNames } from "../rest/openapi.ts";
import type { Services } from "../services.ts";
import { methodOf, statusOf } from "./observe.ts";
import { routeTemplates } from "./route-templates.ts";

/** The log of this process's requests; null: it is switched off. */
export function createRequestLog({ config, pool, logOnce }: Services): RequestLog | null {
  return config.requestLog ? new RequestLog(pool, logOnce, urlShower()) : null;
}

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

/**
 * Parameters of which the value is kept too. What is searched for and what is named is somebody's text, and cursors say nothing.
 */
const shownValues = new Set([
  ...["chain", "include", "exclude", "type", "types", "page_number", "page_size", "order_by", "sort_order", "state"],
  ...["contract_address", "filter_by_contract_address", "contract", "account", "tokenId", "from_block", "to_block"],
  ...["finality", "dry_run", "warnings", "refresh_metadata", "start_date", "end_date"],
]);

/**
 * An address, a hash, a number, an id of ours, or a short word. A key of ours is longer than a word and none of the others, also
 * where it stands in a path.
 */
const plain = /^(0x[0-9a-f]{1,64}|\d{1,78}|(key|wh)_[0-9a-f]{32}|[\w.,:-]{1,24})$/i;
const mostParameters = 20;
const mostSegments = 8;
const hidden = "…";

/** @returns what says of a URL its route, and the path with what cannot be a secret of it. */
export function urlShower(): (url: string) => ShownUrl {
  const routeOf = routeTemplates();
  const known = queryNames();
  const shown = (text: string) => (plain.test(text) ? text : hidden);
  return (url) => {
    const [path = "", query = ""] = url.split("?", 2);
    const segments = path.split("/").slice(1);
    const more = segments.length > mostSegments ? `/${hidden}` : "";
    const parameters = query === "" ? [] : query.split("&").slice(0, mostParameters);
    const pairs = parameters.map((pair) => {
      const [name = "", value = ""] = pair.split("=", 2);
      if (!known.has(name)) return hidden;
      return `${name}=${shownValues.has(name) && value !== "" ? shown(value) : hidden}`;
    });
    const text = segments.slice(0, mostSegments).map((segment) => (segment === "" ? "" : shown(segment)));
    return {
      route: routeOf(url),
      path: `/${text.join("/")}${more}${pairs.length > 0 ? `?${pairs.join("&")}` : ""}`,
    };
  };
}
