import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { isWriteOfSession, sessionSeconds } from "../accounts/sessions.ts";
import { signInMs } from "../accounts/sign-in.ts";
import { refuseEarly } from "../admission/throttle-failures.ts";
import { isLoopback, isOwnHost } from "../http/own-host.ts";
import type { Services } from "../services.ts";

/** Reads of the console's pages outside the APIs: the account pays for them, not the address it shares with others. */
const ofPages = /^\/(console\/(balance\/|figures\b|requests\b)|mint\/[^/?]+\/[^/?]+\/sale\b)/;

/** `session` is the key of a signed-in browser; `browser` ties a nonce to the browser that asked for it. */
type CookieName = "session" | "browser";

const lifeSeconds = { session: sessionSeconds, browser: signInMs / 1_000 };

/** Except on loopback a cookie is HTTPS-only, and no other host of the domain can set one of this name. */
function fullName({ config }: Services, name: CookieName): { full: string; secure: boolean } {
  const secure = !isLoopback(new URL(config.publicUrl).hostname);
  return { full: `${secure ? "__Host-" : ""}mintyard_${name}`, secure };
}

/** @param value null: deletes the cookie. */
export function cookieOf(services: Services, name: CookieName, value: string | null): string {
  const { full, secure } = fullName(services, name);
  const age = value === null ? 0 : lifeSeconds[name];
  return `${full}=${value ?? ""}; Path=/; Max-Age=${age}; HttpOnly; SameSite=Strict${secure ? "; Secure" : ""}`;
}

/** @returns null if the request has no such cookie, or two: then one of them is not ours. */
export function readCookie(services: Services, request: IncomingMessage, name: CookieName): string | null {
  const { full } = fullName(services, name);
  const values = (request.headers.cookie ?? "").split(";").flatMap((pair) => {
    const at = pair.indexOf("=");
    return pair.slice(0, at).trim() === full ? [pair.slice(at + 1).trim()] : [];
  });
  return values.length === 1 && values[0] ? values[0] : null;
}

/**
 * Whether a request may come from a page of this server. Browsers send a request's origin; programs without cookies
 * need not.
 */
export function isSameOrigin({ config }: Services, request: IncomingMessage): boolean {
  const { headers } = request;
  if (!isOwnHost(config.publicUrl, request)) return false;
  const site = headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none") return false;
  const { origin, host } = headers;
  if (origin === undefined) return true;
  // A proxy in front may change the host.
  return URL.canParse(origin) && [host, new URL(config.publicUrl).host].includes(new URL(origin).host);
}

/**
 * Uses the session cookie as the key of an API request that has no key. A write also needs the session's CSRF token,
 * because cookies are also sent with requests from other pages on the same host. A write without any token remains a
 * request without a key, as pages that know of no session send it; one with a wrong token is refused.
 */
export function acceptSessions(services: Services, ordinary: RequestListener): RequestListener {
  return (request, response) => {
    const { url = "", method = "GET", headers } = request;
    const isOfPage = ofPages.test(url);
    if (
      headers.cookie === undefined ||
      headers.authorization !== undefined ||
      !(isOfPage || /^\/(graphql|v[01])\b/.test(url))
    )
      return ordinary(request, response);
    const secret = readCookie(services, request, "session");
    if (secret === null) return ordinary(request, response);
    const isRead = method === "GET" || method === "HEAD";
    if (method === "OPTIONS" || (isOfPage && !isRead) || (!isRead && headers["x-csrf-token"] === undefined))
      return ordinary(request, response);
    const isAllowed = mayUseSession(services, request, secret);
    // Pages also work without a session.
    if (!isAllowed && isOfPage) return ordinary(request, response);
    if (!isAllowed) return refuseWrite(request, response);
    // Set in both forms, because readers of the key use either.
    request.rawHeaders.push("Authorization", secret);
    request.headers.authorization = secret;
    ordinary(request, response);
  };
}

/** Reads need no CSRF token: a page of another origin cannot see their answers. */
export function mayUseSession(services: Services, request: IncomingMessage, secret: string): boolean {
  if (!isSameOrigin(services, request)) return false;
  if (request.method === "GET" || request.method === "HEAD") return true;
  const token = request.headers["x-csrf-token"];
  return typeof token === "string" && isWriteOfSession(services, secret, token);
}

function refuseWrite(request: IncomingMessage, response: ServerResponse): void {
  const message = "X-CSRF-Token is not this session's, or the request comes from a page of another site";
  refuseEarly(request, response, "csrf_token_invalid", message);
}
