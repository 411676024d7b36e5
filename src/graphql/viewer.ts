import type { ObjectFieldBuilder } from "@pothos/core";
import { type Account, type ChainUsage, type Charge, getAccount, listCharges } from "../accounts/get-account.ts";
import { type ApiKey, type CreatedKey, createKey, listKeys, revokeKey, rotateKey } from "../accounts/keys.ts";
import { type SignedUp, signUp } from "../accounts/sign-up.ts";
import type { Plan } from "../auth/plan.ts";
import { type Builder, type GraphQLContext, oncePerBuilder, present, sessionOf, type Types } from "./builder.ts";
import { type Payload, payloadType, withUserErrors } from "./user-errors.ts";

/** The caller; its account is read once, and only where a field shows it. */
interface Viewer {
  account(): Promise<Account>;
}

/** The account behind the request's key; files of what is the account's own add their fields. */
export const viewerType = oncePerBuilder((builder) => builder.objectRef<Viewer>("Viewer"));

function viewerOf(context: GraphQLContext): Viewer {
  let read: Promise<Account> | undefined;
  return {
    account: async () => {
      read ??= getAccount(context.services, await sessionOf(context));
      return await read;
    },
  };
}

/** The caller's account: its plan, what it has used, and what it owes. */
export function addViewer(builder: Builder): void {
  const plan = builder.objectRef<Plan>("Plan").implement({
    description: "What the account's tier allows; null is no limit. Mints and contracts count per chain.",
    fields: (t) => ({
      tier: t.exposeString("tier"),
      readsPerSecond: t.exposeInt("readsPerSecond", { nullable: true }),
      uploadsPerMinute: t.exposeInt("uploadsPerMinute", { nullable: true }),
      deploysPerMinute: t.exposeInt("deploysPerMinute", { nullable: true }),
      requestsPerMonth: t.field({ type: "Uint256", nullable: true, resolve: (item) => item.requestsPerMonth }),
      maxContracts: t.exposeInt("maxContracts", { nullable: true }),
      maxMints: t.exposeInt("maxMints", { nullable: true }),
      maxSupply: t.field({ type: "Uint256", nullable: true, resolve: (item) => item.maxSupply }),
      paidChains: t.exposeBoolean("paidChains"),
      windowDays: t.exposeInt("windowDays", { nullable: true }),
      storageBytes: t.field({
        type: "Uint256",
        nullable: true,
        description: "Bytes of uploads that the account may keep, the same content counted once.",
        resolve: (item) => item.storageBytes,
      }),
      maxAwaitedDeployments: t.exposeInt("maxAwaitedDeployments", {
        nullable: true,
        description: "Deployments of mode SIGN that were prepared and not sent.",
      }),
      maxAllowlists: t.exposeInt("maxAllowlists", { nullable: true, description: "Presale lists that are kept." }),
      allowlistBytes: t.field({
        type: "Uint256",
        nullable: true,
        description: "Bytes of all presale lists together.",
        resolve: (item) => item.allowlistBytes,
      }),
      uploadsAtOnce: t.exposeInt("uploadsAtOnce", {
        nullable: true,
        description: "Of one account in one process; further uploads wait for a while.",
      }),
      transactionsPerDay: t.exposeInt("transactionsPerDay", {
        nullable: true,
        description: "Deployments and updates together, on all chains; a day is one of UTC.",
      }),
      transactionsPerMonth: t.exposeInt("transactionsPerMonth", { nullable: true }),
      deployRequestsPerDay: t.exposeInt("deployRequestsPerDay", {
        nullable: true,
        description: "Requests to deploy or update, dry runs and refused ones included.",
      }),
      uploadRequestsPerDay: t.exposeInt("uploadRequestsPerDay", { nullable: true }),
      maxWebhooks: t.exposeInt("maxWebhooks", { nullable: true }),
      webhookTriesPerDay: t.exposeInt("webhookTriesPerDay", {
        nullable: true,
        description: "Messages to all endpoints in a day (UTC), whatever becomes of them; the rest waits.",
      }),
      wholeChainWebhooks: t.exposeBoolean("wholeChainWebhooks", {
        description: "Whether an endpoint may get events of whole chains; without it one names contracts.",
      }),
    }),
  });
  const chainUsage = builder.objectRef<ChainUsage>("ChainUsage").implement({
    fields: (t) => ({
      chain: t.expose("chain", { type: "ChainName" }),
      contractsTotal: t.exposeInt("contractsTotal"),
      contractsThisPeriod: t.exposeInt("contractsThisPeriod"),
      mintsTotal: t.exposeInt("mintsTotal"),
      mintsThisPeriod: t.exposeInt("mintsThisPeriod"),
      gasTodayWei: t.expose("gasTodayWei", {
        type: "Wei",
        description: "What the transactions of today (UTC) cost or have reserved.",
      }),
      maxGasPerDayWei: t.expose("maxGasPerDayWei", { type: "Wei", description: "What they may cost." }),
      gasThisMonthWei: t.expose("gasThisMonthWei", {
        type: "Wei",
        description: "The same of this calendar month (UTC), where the plan has a limit for it.",
      }),
      maxGasPerMonthWei: t.expose("maxGasPerMonthWei", {
        type: "Wei",
        nullable: true,
        description: "What they may cost in a month; null: no limit but the day's.",
      }),
    }),
  });
  const usage = builder.objectRef<Account>("Usage").implement({
    description: "What the account has used; a period is a calendar month, UTC.",
    fields: (t) => ({
      periodStart: t.expose("periodStart", { type: "DateTime" }),
      periodEnd: t.expose("periodEnd", { type: "DateTime" }),
      requestsThisPeriod: t.exposeInt("requestsThisPeriod"),
      storedBytes: t.expose("storedBytes", {
        type: "Uint256",
        description: "Of all uploads, the same content counted once.",
      }),
      transactionsToday: t.exposeInt("transactionsToday", {
        description: "Deployments and updates on all chains, without those that ended before they had a nonce.",
      }),
      transactionsThisPeriod: t.exposeInt("transactionsThisPeriod"),
      webhooks: t.exposeInt("webhooks"),
      webhookTriesToday: t.exposeInt("webhookTriesToday", { description: "Messages to endpoints." }),
      chains: t.field({ type: [chainUsage], complexity: { multiplier: 5 }, resolve: (account) => account.usage }),
    }),
  });
  const charge = builder.objectRef<Charge>("Charge").implement({
    description: "A fee that a deployment on a paid chain booked; the operator settles it.",
    fields: (t) => ({
      id: t.exposeID("id"),
      chain: t.expose("chain", { type: "ChainName" }),
      kind: t.exposeString("kind"),
      usdCents: t.exposeInt("usdCents"),
      state: t.exposeString("state"),
      createdAt: t.expose("createdAt", { type: "DateTime" }),
    }),
  });
  const viewer = viewerType(builder).implement({
    description: "The account behind the request's key.",
    fields: (t) => ({
      id: t.id({ resolve: async ({ account }) => (await account()).id }),
      name: t.string({ resolve: async ({ account }) => (await account()).name }),
      email: t.string({ nullable: true, resolve: async ({ account }) => (await account()).email }),
      createdAt: t.field({ type: "DateTime", resolve: async ({ account }) => (await account()).createdAt }),
      plan: t.field({ type: plan, resolve: async ({ account }) => (await account()).plan }),
      usage: t.field({ type: usage, resolve: async ({ account }) => await account() }),
      charges: t.field({
        type: [charge],
        nullable: true,
        description: "The newest 200.",
        resolve: async (_viewer, _args, context) => await listCharges(context.services, await sessionOf(context)),
      }),
    }),
  });
  builder.queryField("viewer", (t) =>
    t.field({
      type: viewer,
      nullable: true,
      resolve: async (_root, _args, context) => {
        await context.caller();
        return viewerOf(context);
      },
    }),
  );
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

  const created = payloadType<CreatedKey>(builder, "CreatedKeyPayload", (t) => ({
    apiKey: t.expose("apiKey", { type: apiKey, nullable: true }),
    ...secretFields(t),
  }));
  const revoked = payloadType<{ apiKey: ApiKey }>(builder, "RevokeKeyPayload", (t) => ({
    apiKey: t.expose("apiKey", { type: apiKey, nullable: true }),
  }));
  builder.mutationField("createKey", (t) =>
    t.field({
      type: created,
      nullable: true,
      args: {
        name: t.arg.string({ required: true }),
        scopes: t.arg({ type: [scope], required: true, defaultValue: ["read"] }),
        expiresAt: t.arg({ type: "DateTime" }),
      },
      resolve: async (_root, args, context) =>
        await withUserErrors(sessionOf(context), (session) => createKey(context.services, session, present(args))),
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
      resolve: async (_root, args, context) =>
        await withUserErrors(sessionOf(context), (session) => rotateKey(context.services, session, present(args))),
    }),
  );
  builder.mutationField("revokeKey", (t) =>
    t.field({
      type: revoked,
      nullable: true,
      description: "Ends a key, everywhere within a second.",
      args: { id: t.arg.id({ required: true }) },
      resolve: async (_root, { id }, context) =>
        await withUserErrors(sessionOf(context), async (session) => ({
          apiKey: await revokeKey(context.services, session, id),
        })),
    }),
  );
  addSignUp(builder);
}

function addSignUp(builder: Builder): void {
  const payload = payloadType<SignedUp>(builder, "SignUpPayload", (t) => ({
    accountId: t.exposeID("accountId", { nullable: true }),
    ...secretFields(t),
  }));
  builder.mutationField("signUp", (t) =>
    t.field({
      type: payload,
      nullable: true,
      description: "Opens a free account with its first key. Needs no key.",
      args: { name: t.arg.string({ required: true }), email: t.arg.string() },
      resolve: async (_root, args, { services, address = null, requestId }) =>
        await withUserErrors(undefined, () => signUp(services, present(args), { address, requestId })),
    }),
  );
}

/** A key's secret, in both its spellings. */
function secretFields<T extends { key: string; legacyKey: string }>(t: ObjectFieldBuilder<Types, Payload<T>>) {
  return {
    key: t.string({ nullable: true, description: "`mty_live_…`", resolve: ({ key }) => key ?? null }),
    legacyKey: t.string({
      nullable: true,
      description: "The same key for clients that can only send a UUID.",
      resolve: ({ legacyKey }) => legacyKey ?? null,
    }),
  };
}
