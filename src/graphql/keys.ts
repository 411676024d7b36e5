import { type ApiKey, type CreatedKey, createKey, listKeys, revokeKey, rotateKey } from "../accounts/keys.ts";
import { type SignedUp, signUp } from "../accounts/sign-up.ts";
import { type Builder, sessionOf } from "./builder.ts";
import { type UserError, userErrorType, withUserErrors } from "./user-errors.ts";
import { viewerType } from "./viewer.ts";

interface Outcome<T> {
  result: T | null;
  userErrors: readonly UserError[];
}

/** How an account begins, and its keys. Secrets are in the answer of the mutation that made them, and never again. */
export function addKeys(builder: Builder): void {
  const scope = builder.enumType("Scope", {
    description: "What a key may be used for; ADMIN manages the keys of its own account.",
    values: {
      READ: { value: "read" },
      UPLOAD: { value: "upload" },
      DEPLOY: { value: "deploy" },
      ADMIN: { value: "admin" },
    } as const,
  });
  const apiKey = builder.objectRef<ApiKey>("ApiKey").implement({
    description: "A key without its secret.",
    fields: (t) => ({
      id: t.exposeID("id"),
      name: t.exposeString("name"),
      scopes: t.field({ type: [scope], complexity: { multiplier: 1 }, resolve: ({ scopes }) => [...scopes] }),
      createdAt: t.expose("createdAt", { type: "DateTime" }),
      expiresAt: t.expose("expiresAt", { type: "DateTime", nullable: true }),
      revokedAt: t.expose("revokedAt", { type: "DateTime", nullable: true }),
      lastUsedAt: t.expose("lastUsedAt", { type: "DateTime", nullable: true }),
      wallet: t.expose("wallet", {
        type: "Address",
        nullable: true,
        description: "Of a browser's session: the wallet that signed in; null for a key.",
      }),
    }),
  });
  builder.objectField(viewerType(builder), "keys", (t) =>
    t.field({
      type: [apiKey],
      nullable: true,
      description: "The keys of the account, revoked ones too; needs the scope ADMIN.",
      resolve: async (_viewer, _args, context) => await listKeys(context.services, await sessionOf(context)),
    }),
  );

  const created = builder.objectRef<Outcome<CreatedKey>>("CreatedKeyPayload").implement({
    fields: (t) => ({
      apiKey: t.field({ type: apiKey, nullable: true, resolve: ({ result }) => result?.apiKey ?? null }),
      key: t.string({ nullable: true, description: "`mty_live_…`", resolve: ({ result }) => result?.key ?? null }),
      legacyKey: t.string({
        nullable: true,
        description: "The same key for clients that can only send a UUID.",
        resolve: ({ result }) => result?.legacyKey ?? null,
      }),
      userErrors: t.field({ type: [userErrorType(builder)], resolve: ({ userErrors }) => [...userErrors] }),
    }),
  });
  const revoked = builder.objectRef<Outcome<ApiKey>>("RevokeKeyPayload").implement({
    fields: (t) => ({
      apiKey: t.field({ type: apiKey, nullable: true, resolve: ({ result }) => result }),
      userErrors: t.field({ type: [userErrorType(builder)], resolve: ({ userErrors }) => [...userErrors] }),
    }),
  });
  builder.mutationField("createKey", (t) =>
    t.field({
      type: created,
      nullable: true,
      args: {
        name: t.arg.string({ required: true }),
        scopes: t.arg({ type: [scope], required: true, defaultValue: ["read"] }),
        expiresAt: t.arg({ type: "DateTime" }),
      },
      resolve: async (_root, { name, scopes, expiresAt }, context) => {
        const session = await sessionOf(context);
        return await withUserErrors(() =>
          createKey(context.services, session, { name, scopes, expiresAt: expiresAt ?? undefined }),
        );
      },
    }),
  );
  builder.mutationField("rotateKey", (t) =>
    t.field({
      type: created,
      nullable: true,
      description: "A new key in place of one that works on for a while, so that clients can be moved over.",
      args: {
        id: t.arg.id({ required: true }),
        overlapSeconds: t.arg.int({ description: "0 to 2592000; default a day." }),
      },
      resolve: async (_root, { id, overlapSeconds }, context) => {
        const session = await sessionOf(context);
        return await withUserErrors(() =>
          rotateKey(context.services, session, { id, overlapSeconds: overlapSeconds ?? undefined }),
        );
      },
    }),
  );
  builder.mutationField("revokeKey", (t) =>
    t.field({
      type: revoked,
      nullable: true,
      description: "Ends a key, everywhere within a second.",
      args: { id: t.arg.id({ required: true }) },
      resolve: async (_root, { id }, context) => {
        const session = await sessionOf(context);
        return await withUserErrors(() => revokeKey(context.services, session, id));
      },
    }),
  );
  addSignUp(builder);
}

function addSignUp(builder: Builder): void {
  const payload = builder.objectRef<Outcome<SignedUp>>("SignUpPayload").implement({
    fields: (t) => ({
      accountId: t.id({ nullable: true, resolve: ({ result }) => result?.accountId ?? null }),
      key: t.string({ nullable: true, description: "`mty_live_…`", resolve: ({ result }) => result?.key ?? null }),
      legacyKey: t.string({
        nullable: true,
        description: "The same key for clients that can only send a UUID.",
        resolve: ({ result }) => result?.legacyKey ?? null,
      }),
      userErrors: t.field({ type: [userErrorType(builder)], resolve: ({ userErrors }) => [...userErrors] }),
    }),
  });
  builder.mutationField("signUp", (t) =>
    t.field({
      type: payload,
      nullable: true,
      description: "Opens a free account with its first key. Needs no key.",
      args: { name: t.arg.string({ required: true }), email: t.arg.string() },
      resolve: async (_root, { name, email }, context) =>
        await withUserErrors(() =>
          signUp(
            context.services,
            { name, email: email ?? undefined },
            { address: context.address ?? null, requestId: context.requestId },
          ),
        ),
    }),
  );
}
