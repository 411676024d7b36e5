import { type ApiKey, type CreatedKey, createKey, listKeys, revokeKey, rotateKey } from "../accounts/keys.ts";
import { withFieldNames } from "../collections/problems.ts";
import type { Services } from "../services.ts";
import { ok } from "./answer.ts";
import type { V0App } from "./app.ts";
import { createKeyBody, readOwnBody, rotateKeyBody } from "./own-bodies.ts";

/** /me/keys: the keys of the caller's account; needs the scope admin. */
export function addKeys(app: V0App, services: Services): void {
  app.get("/me/keys", async (c) => {
    const keys = await listKeys(services, c.get("session"));
    return ok(c, { keys: keys.map(keyBody) });
  });
  app.post("/me/keys", async (c) => {
    const { name, scopes = ["read"], expires_at: expiresAt } = await readOwnBody(c.env.incoming, createKeyBody);
    const made = createKey(services, c.get("session"), { name, scopes, expiresAt });
    return ok(c, createdBody(await withFieldNames(made, legacyName)));
  });
  app.post("/me/keys/:id/rotate", async (c) => {
    const body = await readOwnBody(c.env.incoming, rotateKeyBody, { mayBeEmpty: true });
    const made = rotateKey(services, c.get("session"), {
      id: c.req.param("id"),
      overlapSeconds: body.overlap_seconds,
    });
    return ok(c, createdBody(await withFieldNames(made, legacyName)));
  });
  app.delete("/me/keys/:id", async (c) => {
    return ok(c, { key: keyBody(await revokeKey(services, c.get("session"), c.req.param("id"))) });
  });
}

function createdBody({ apiKey, key, legacyKey }: CreatedKey) {
  return { api_key: key, legacy_api_key: legacyKey, key: keyBody(apiKey) };
}

function keyBody(key: ApiKey) {
  return {
    id: key.id,
    name: key.name,
    scopes: key.scopes,
    created_at: key.createdAt,
    expires_at: key.expiresAt,
    revoked_at: key.revokedAt,
    last_used_at: key.lastUsedAt,
    wallet: key.wallet,
  };
}

function legacyName(field: string): string {
  return field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
