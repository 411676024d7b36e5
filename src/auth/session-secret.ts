import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";

/** A secret of a browser, from which a nonce of its own follows. */
export function newBrowserSecret(): string {
  return randomBytes(24).toString("base64url");
}

export function sha256Of(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/**
 * What a page of ours sends with each write of a session. It follows from the session, so nothing is stored; a page of
 * another site can neither read nor compute it.
 */
export function csrfTokenOf(pepper: string, session: string): string {
  return createHmac("sha256", pepper).update(`csrf ${session}`).digest("base64url");
}

export function isCsrfToken(pepper: string, session: string, given: string): boolean {
  const wanted = Buffer.from(csrfTokenOf(pepper, session));
  const bytes = Buffer.from(given);
  return bytes.length === wanted.length && timingSafeEqual(bytes, wanted);
}
