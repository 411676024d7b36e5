import { type Account, type ChainUsage, type Charge, getAccount, listCharges } from "../accounts/get-account.ts";
import type { Plan } from "../auth/plan.ts";
import { type Builder, type GraphQLContext, oncePerBuilder, sessionOf } from "./builder.ts";

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
