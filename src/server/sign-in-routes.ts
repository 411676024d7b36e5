import type { Context, Hono } from "hono";
import type { Hex } from "viem";
import { requireScope } from "../accounts/admit.ts";
import { authenticate } from "../accounts/authenticate.ts";
import { endSession, getSession, type SessionInfo } from "../accounts/sessions.ts";
import { newBrowser, newChallenge, signIn } from "../accounts/sign-in.ts";
import { ServiceError } from "../errors/errors.ts";
import type { AppEnv } from "../http/app-env.ts";
import { clientAddress } from "../http/client-address.ts";
import { rawHeaderValues } from "../http/headers.ts";
import { noteRequest } from "../http/request-notes.ts";
import { ok } from "../rest/answer.ts";
import { Input } from "../rest/input.ts";
import { parseJsonObject, readBody } from "../rest/json-body.ts";
import type { Services } from "../services.ts";
import { cookieOf, isSameOrigin, mayUseSession, readCookie } from "./session-cookie.ts";

const bodyBytes = 65_536;

/** `/auth`: Sign-In with Ethereum for this server's pages. Answers are never cached. */
export function addSignIn(app: Hono<AppEnv>, services: Services): void {
  app.use("/auth/*", async (c, next) => {
    c.header("Cache-Control", "no-store");
    // Otherwise a page of another site could sign its visitor in to the attacker's account.
    if (!isSameOrigin(services, c.env.incoming)) throw foreign();
    await next();
  });
  app.post("/auth/nonce", async (c) => {
    const browser = newBrowser();
    const { nonce, statement, expiresAt } = await newChallenge(services, browser, requestOf(c, services));
    c.header("Set-Cookie", cookieOf(services, "browser", browser), { append: true });
    return ok(c, { nonce, statement, expires_at: expiresAt });
  });
  app.post("/auth/sign-in", async (c) => {
    const browser = readCookie(services, c.env.incoming, "browser");
    const input = Input.fromBody(parseJsonObject(await readBody(c.env.incoming, bodyBytes)));
    const message = input.text("message", { required: true }) ?? "";
    const signature = (input.text("signature", { required: true }) ?? "") as Hex;
    input.check();
    if (browser === null)
      throw new ServiceError("value_error", "no cookie came with the request; ask for a nonce first, in this browser", {
        fix: "Ask for a nonce first, and send its cookie along with the signature.",
      });
    const joinTo = await keyOwner(c, services);
    const session = await signIn(services, { message, signature, browser, joinTo }, requestOf(c, services));
    // Always a new secret: one that the browser had before must not open this session.
    c.header("Set-Cookie", cookieOf(services, "session", session.secret), { append: true });
    c.header("Set-Cookie", cookieOf(services, "browser", null), { append: true });
    return ok(c, { ...sessionBody(session), new_account: session.isNew });
  });
  app.get("/auth/session", async (c) => {
    const secret = readCookie(services, c.env.incoming, "session");
    if (secret === null) return ok(c, { session: null });
    try {
      return ok(c, { session: sessionBody(await getSession(services, secret)) });
    } catch (error) {
      if (!(error instanceof ServiceError && error.status === 403)) throw error;
      c.header("Set-Cookie", cookieOf(services, "session", null), { append: true });
      return ok(c, { session: null });
    }
  });
  app.delete("/auth/session", async (c) => {
    const secret = readCookie(services, c.env.incoming, "session");
    if (secret !== null) {
      if (!mayUseSession(services, c.env.incoming, secret)) throw foreign();
      await endSession(services, secret, c.get("requestId"));
    }
    c.header("Set-Cookie", cookieOf(services, "session", null), { append: true });
    return ok(c, { session: null });
  });
}

/** A wallet can be added to the account of a key that may manage keys. */
async function keyOwner(c: Context<AppEnv>, services: Services): Promise<string | undefined> {
  const authorization = rawHeaderValues(c.env.incoming, "authorization");
  if (authorization.length === 0) return undefined;
  const { address, requestId } = requestOf(c, services);
  const session = await authenticate(services, authorization, requestId, address);
  noteRequest(c.env.incoming, { accountId: session.accountId, keyId: session.keyId });
  requireScope(session, { scope: "admin", bucket: "deploy" });
  return session.accountId;
}

function requestOf(c: Context<AppEnv>, { config }: Services) {
  return { address: clientAddress(c.env.incoming, config.trustedProxies), requestId: c.get("requestId") };
}

function sessionBody({ accountId, wallet, csrfToken, expiresAt }: SessionInfo) {
  return { account_id: accountId, wallet, csrf_token: csrfToken, expires_at: expiresAt };
}

function foreign(): ServiceError {
  return new ServiceError("csrf_token_invalid", "the request comes from a page of another site, or without its token");
}
