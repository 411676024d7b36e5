import { type ApiKey, type CreatedKey, createKey, listKeys, revokeKey, rotateKey } from "../accounts/keys.ts";
import { withFieldNames } from "../collections/field-names.ts";
import type { Scope } from "../db/tables/accounts.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import { ok } from "./answer.ts";
import type { V0App } from "./app.ts";
import { Input } from "./input.ts";
import { parseJsonObject, readBody } from "./json-body.ts";

const bodyBytes = 16_384;
const scopes: readonly string[] = ["read", "upload", "deploy", "admin"] satisfies Scope[];

/** /me/keys: the keys of the caller's account; needs the scope admin. */
export function addKeys(app: V0App, services: Services): void {
  app.get("/me/keys", async (c) => {
    const keys = await listKeys(services, c.get("session"));
    return ok(c, { keys: keys.map(keyBody) });
  });
  app.post("/me/keys", async (c) => {
    const body = parseJsonObject(await readBody(c.env.incoming, bodyBytes));
    const input = Input.fromBody(body);
    const name = input.text("name", { required: true });
    const expiresAt = input.date("expires_at");
    input.check();
    const wanted = readScopes(body["scopes"]);
    const made = createKey(services, c.get("session"), { name: name ?? "", scopes: wanted, expiresAt });
    return ok(c, createdBody(await withFieldNames(made, legacyName)));
  });
  app.post("/me/keys/:id/rotate", async (c) => {
    const text = await readBody(c.env.incoming, bodyBytes);
    const input = Input.fromBody(text.trim() === "" ? {} : parseJsonObject(text));
    const seconds = input.integer("overlap_seconds");
    input.check();
    const made = rotateKey(services, c.get("session"), {
      id: c.req.param("id"),
      overlapSeconds: seconds === undefined ? undefined : Number(seconds),
    });
    return ok(c, createdBody(await withFieldNames(made, legacyName)));
  });
  app.delete("/me/keys/:id", async (c) => {
    return ok(c, { key: keyBody(await revokeKey(services, c.get("session"), c.req.param("id"))) });
  });
}

function readScopes(value: unknown): Scope[] {
  if (value === undefined || value === null) return ["read"];
  if (!Array.isArray(value)) throw new ServiceError("invalid_type", "scopes must be an array", { field: "scopes" });
  if (value.every((item) => scopes.includes(item))) return value as Scope[];
  throw new ServiceError("invalid_enumeration", `each scope must be one of: ${scopes.join(", ")}`, { field: "scopes" });
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
