import type { ObjectFieldBuilder } from "@pothos/core";
import {
  type ApiKey,
  type CreatedKey,
  createKey,
  createKeyFields,
  keyMembers,
  listKeys,
  revokeKey,
  rotateKey,
  rotateKeyFields,
  scopeWords,
} from "../accounts/keys.ts";
import { type SignedUp, signUp, signUpFields } from "../accounts/sign-up.ts";
import type { Scope } from "../db/tables/accounts.ts";
import { type Builder, sessionOf, type Types } from "./builder.ts";
import { exposeMembers } from "./expose-members.ts";
import { argsOf, readInput } from "./inputs.ts";
import { type Payload, payloadType, withUserErrors } from "./user-errors.ts";
import { viewerType } from "./viewer.ts";

/** Sign-up and API keys. A secret appears only in the answer of the mutation that created it. */
export function addKeys(builder: Builder): void {
  const scope = builder.enumType("Scope", {
    description: "What a key may be used for.",
    values: Object.fromEntries(
      Object.entries(scopeWords).map(([value, description]) => [
        value.toUpperCase(),
        { value: value as Scope, description },
      ]),
    ),
  });
  const apiKey = builder.objectRef<ApiKey>("ApiKey").implement({
    description: "An API key of the account, without its secret.",
    fields: (t) => ({
      ...exposeMembers<ApiKey>(t, keyMembers),
      scopes: t.field({
        type: [scope],
        description: "What the key may be used for.",
        complexity: { multiplier: 1 },
        resolve: ({ scopes }) => [...scopes],
      }),
    }),
  });
  builder.objectField(viewerType(builder), "keys", (t) =>
    t.field({
      type: [apiKey],
      nullable: true,
      description: "The keys of the account, including revoked ones. Requires the scope ADMIN.",
      resolve: async (_viewer, _args, context) => await listKeys(context.services, await sessionOf(context)),
    }),
  );

  const created = payloadType<CreatedKey>(builder, "CreatedKeyPayload", "`createKey` and `rotateKey`", (t) => ({
    apiKey: t.expose("apiKey", {
      type: apiKey,
      nullable: true,
      description: "The new key. Null if there are user errors.",
    }),
    ...secretFields(t),
  }));
  const revoked = payloadType<{ apiKey: ApiKey }>(builder, "RevokeKeyPayload", "`revokeKey`", (t) => ({
    apiKey: t.expose("apiKey", {
      type: apiKey,
      nullable: true,
      description: "The revoked key. Null if there are user errors.",
    }),
  }));
  builder.mutationField("createKey", (t) =>
    t.field({
      type: created,
      nullable: true,
      description: "Creates another key for the account, which can have 100 working keys. Requires the scope ADMIN.",
      args: argsOf(t, createKeyFields, { scopes: [scope] }),
      resolve: async (_root, args, context) =>
        await withUserErrors(sessionOf(context), (session) =>
          createKey(context.services, session, readInput(createKeyFields, args)),
        ),
    }),
  );
  builder.mutationField("rotateKey", (t) =>
    t.field({
      type: created,
      nullable: true,
      description:
        "Replaces a key with a new one. The old key keeps working for a while, so that clients can be migrated.",
      args: {
        id: t.arg.id({ required: true, description: "The id of the key to replace." }),
        ...argsOf(t, rotateKeyFields),
      },
      resolve: async (_root, { id, ...args }, context) =>
        await withUserErrors(sessionOf(context), (session) =>
          rotateKey(context.services, session, { id, ...readInput(rotateKeyFields, args) }),
        ),
    }),
  );
  builder.mutationField("revokeKey", (t) =>
    t.field({
      type: revoked,
      nullable: true,
      description: "Revokes a key. It stops working everywhere within a second.",
      args: { id: t.arg.id({ required: true, description: "The id of the key to revoke." }) },
      resolve: async (_root, { id }, context) =>
        await withUserErrors(sessionOf(context), async (session) => ({
          apiKey: await revokeKey(context.services, session, id),
        })),
    }),
  );
  addSignUp(builder);
}

function addSignUp(builder: Builder): void {
  const payload = payloadType<SignedUp>(builder, "SignUpPayload", "`signUp`", (t) => ({
    accountId: t.exposeID("accountId", {
      nullable: true,
      description: "The id of the new account. Null if there are user errors.",
    }),
    ...secretFields(t),
  }));
  builder.mutationField("signUp", (t) =>
    t.field({
      type: payload,
      nullable: true,
      description: "Opens a free account and creates its first key. Requires no key.",
      args: argsOf(t, signUpFields),
      resolve: async (_root, args, { services, address = null, requestId }) =>
        await withUserErrors(undefined, () => signUp(services, readInput(signUpFields, args), { address, requestId })),
    }),
  );
}

/** A key's secret in both of its spellings. */
function secretFields<T extends { key: string; legacyKey: string }>(t: ObjectFieldBuilder<Types, Payload<T>>) {
  return {
    key: t.string({
      nullable: true,
      description: "The secret of the new key, `mty_live_…`, shown only in this answer. Null if there are user errors.",
      resolve: ({ key }) => key ?? null,
    }),
    legacyKey: t.string({
      nullable: true,
      description: "The same secret as a UUID, for clients that can only send UUIDs. Null if there are user errors.",
      resolve: ({ legacyKey }) => legacyKey ?? null,
    }),
  };
}
