import { type Account, type ChainUsage, type Charge, getAccount, listCharges } from "../accounts/get-account.ts";
import type { Plan } from "../auth/plan.ts";
import { type Builder, type GraphQLContext, oncePerBuilder, sessionOf } from "./builder.ts";

/** The caller. Its account is read once, and only if a field needs it. */
interface Viewer {
  account(): Promise<Account>;
}

/** The account behind the request's key. Other files add fields for what the account owns. */
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

/** The caller's account: its plan, usage and charges. */
export function addViewer(builder: Builder): void {
  const plan = builder.objectRef<Plan>("Plan").implement({
    description: "What the account's plan allows; null is no limit. Mints and contracts count for each chain.",
    fields: (t) => ({
      tier: t.exposeString("tier", { description: "The name of the plan: free, growth, scale or enterprise." }),
      readsPerSecond: t.exposeInt("readsPerSecond", {
        nullable: true,
        description: "Requests in a second that only read; an expensive query counts as several.",
      }),
      uploadsPerMinute: t.exposeInt("uploadsPerMinute", {
        nullable: true,
        description: "Uploads in a minute; a large directory counts as several.",
      }),
      deploysPerMinute: t.exposeInt("deploysPerMinute", {
        nullable: true,
        description: "Mutations in a minute, without uploads and metadata refreshes.",
      }),
      requestsPerMonth: t.field({
        type: "Uint256",
        nullable: true,
        description: "Read requests in a calendar month (UTC).",
        resolve: (item) => item.requestsPerMonth,
      }),
      maxContracts: t.exposeInt("maxContracts", {
        nullable: true,
        description: "Contracts that the account may have the service deploy on a chain.",
      }),
      maxMints: t.exposeInt("maxMints", {
        nullable: true,
        description: "Tokens that the account may have the service mint, burn or transfer on a chain.",
      }),
      maxSupply: t.field({
        type: "Uint256",
        nullable: true,
        description: "The largest `maxSupply` of a collection.",
        resolve: (item) => item.maxSupply,
      }),
      paidChains: t.exposeBoolean("paidChains", {
        description: "Whether the account may deploy on chains where a deployment has a fee.",
      }),
      windowDays: t.exposeInt("windowDays", {
        nullable: true,
        description: "How many days the list of a chain's latest NFTs goes back.",
      }),
      storageBytes: t.field({
        type: "Uint256",
        nullable: true,
        description: "Bytes of uploads that the account may keep, the same content counted once.",
        resolve: (item) => item.storageBytes,
      }),
      maxAwaitedDeployments: t.exposeInt("maxAwaitedDeployments", {
        nullable: true,
        description: "Deployments of mode SIGN that may be prepared and not yet sent.",
      }),
      maxAllowlists: t.exposeInt("maxAllowlists", {
        nullable: true,
        description: "How many presale lists the service keeps for the account.",
      }),
      allowlistBytes: t.field({
        type: "Uint256",
        nullable: true,
        description: "How many bytes all presale lists of the account may have.",
        resolve: (item) => item.allowlistBytes,
      }),
      uploadsAtOnce: t.exposeInt("uploadsAtOnce", {
        nullable: true,
        description: "Uploads at the same time in one server process; further ones wait for a while.",
      }),
      transactionsPerDay: t.exposeInt("transactionsPerDay", {
        nullable: true,
        description:
          "Deployments and updates in a day (UTC), on all chains; one that takes much gas counts as several.",
      }),
      transactionsPerMonth: t.exposeInt("transactionsPerMonth", {
        nullable: true,
        description:
          "Deployments and updates in a calendar month (UTC), on all chains; one that takes much gas counts as several.",
      }),
      deployRequestsPerDay: t.exposeInt("deployRequestsPerDay", {
        nullable: true,
        description: "Mutations in a day, without uploads and metadata refreshes; dry runs and refused ones count too.",
      }),
      uploadRequestsPerDay: t.exposeInt("uploadRequestsPerDay", {
        nullable: true,
        description: "Uploads in a day; dry runs and refused ones count too.",
      }),
      maxWebhooks: t.exposeInt("maxWebhooks", {
        nullable: true,
        description: "How many webhook endpoints the account may have.",
      }),
      webhookTriesPerDay: t.exposeInt("webhookTriesPerDay", {
        nullable: true,
        description: "Messages to all webhook endpoints in a day (UTC), failed ones included; the rest waits.",
      }),
      wholeChainWebhooks: t.exposeBoolean("wholeChainWebhooks", {
        description:
          "Whether a webhook endpoint may get events of whole chains; false: its filter has to name contracts.",
      }),
    }),
  });
  const chainUsage = builder.objectRef<ChainUsage>("ChainUsage").implement({
    description:
      "What the account has used on one chain; requests that failed, expired or were cancelled do not count.",
    fields: (t) => ({
      chain: t.expose("chain", { type: "ChainName", description: "The name of the chain, such as polygon." }),
      contractsTotal: t.exposeInt("contractsTotal", {
        description: "Contracts that the service deployed for the account, ever.",
      }),
      contractsThisPeriod: t.exposeInt("contractsThisPeriod", {
        description: "Contracts that the service deployed for the account this calendar month (UTC).",
      }),
      mintsTotal: t.exposeInt("mintsTotal", {
        description: "Tokens that the service minted, burned or transferred for the account, ever.",
      }),
      mintsThisPeriod: t.exposeInt("mintsThisPeriod", {
        description: "Tokens that the service minted, burned or transferred for the account this calendar month (UTC).",
      }),
      gasTodayWei: t.expose("gasTodayWei", {
        type: "Wei",
        description: "What the account's transactions of today (UTC) cost or have reserved, in wei.",
      }),
      maxGasPerDayWei: t.expose("maxGasPerDayWei", {
        type: "Wei",
        description: "What the account's transactions of a day (UTC) may cost, in wei.",
      }),
      gasThisMonthWei: t.expose("gasThisMonthWei", {
        type: "Wei",
        description:
          "What the account's transactions of this calendar month (UTC) cost or have reserved, in wei; counted only where `maxGasPerMonthWei` is set.",
      }),
      maxGasPerMonthWei: t.expose("maxGasPerMonthWei", {
        type: "Wei",
        nullable: true,
        description:
          "What the account's transactions of a calendar month (UTC) may cost, in wei; null: no limit but that of the day.",
      }),
    }),
  });
  const usage = builder.objectRef<Account>("Usage").implement({
    description: "What the account has used; a period is a calendar month, UTC.",
    fields: (t) => ({
      periodStart: t.expose("periodStart", {
        type: "DateTime",
        description: "The beginning of this calendar month (UTC).",
      }),
      periodEnd: t.expose("periodEnd", { type: "DateTime", description: "The end of this calendar month (UTC)." }),
      requestsThisPeriod: t.exposeInt("requestsThisPeriod", {
        description: "Read requests of this calendar month; it may be a second old.",
      }),
      storedBytes: t.expose("storedBytes", {
        type: "Uint256",
        description: "Bytes of all uploads that the account keeps, the same content counted once.",
      }),
      transactionsToday: t.exposeInt("transactionsToday", {
        description:
          "Deployments and updates of today (UTC) on all chains, without those that ended before they had a nonce.",
      }),
      transactionsThisPeriod: t.exposeInt("transactionsThisPeriod", {
        description:
          "Deployments and updates of this calendar month on all chains, without those that ended before they had a nonce.",
      }),
      webhooks: t.exposeInt("webhooks", { description: "How many webhook endpoints the account has." }),
      webhookTriesToday: t.exposeInt("webhookTriesToday", {
        description: "Messages that were sent to the account's webhook endpoints today (UTC).",
      }),
      chains: t.field({
        type: [chainUsage],
        description: "What was used on each chain of this installation.",
        complexity: { multiplier: 5 },
        resolve: (account) => account.usage,
      }),
    }),
  });
  const charge = builder.objectRef<Charge>("Charge").implement({
    description: "A fee for a deployment or an update on a chain with fees; the operator of the service settles it.",
    fields: (t) => ({
      id: t.exposeID("id", { description: "The id of the charge, `chg_…`." }),
      chain: t.expose("chain", { type: "ChainName", description: "The name of the chain, such as polygon." }),
      kind: t.exposeString("kind", { description: "What the fee is for: deploy or update." }),
      usdCents: t.exposeInt("usdCents", { description: "The amount in US cents." }),
      state: t.exposeString("state", {
        description: "The state of the fee: open, settled, void, refund_due or refunded.",
      }),
      createdAt: t.expose("createdAt", { type: "DateTime", description: "When the fee was booked." }),
    }),
  });
  const viewer = viewerType(builder).implement({
    description: "The account behind the request's key.",
    fields: (t) => ({
      id: t.id({ description: "The id of the account.", resolve: async ({ account }) => (await account()).id }),
      name: t.string({
        description: "The name of the account.",
        resolve: async ({ account }) => (await account()).name,
      }),
      email: t.string({
        nullable: true,
        description: "The e-mail address of the account; null where none was given.",
        resolve: async ({ account }) => (await account()).email,
      }),
      createdAt: t.field({
        type: "DateTime",
        description: "When the account was opened.",
        resolve: async ({ account }) => (await account()).createdAt,
      }),
      plan: t.field({
        type: plan,
        description: "What the account's plan allows.",
        resolve: async ({ account }) => (await account()).plan,
      }),
      usage: t.field({
        type: usage,
        description: "What the account has used of its plan.",
        resolve: async ({ account }) => await account(),
      }),
      charges: t.field({
        type: [charge],
        nullable: true,
        description: "The newest 200 fees of the account.",
        resolve: async (_viewer, _args, context) => await listCharges(context.services, await sessionOf(context)),
      }),
    }),
  });
  builder.queryField("viewer", (t) =>
    t.field({
      type: viewer,
      nullable: true,
      description: "The account behind the request's key, and what is its own.",
      resolve: async (_root, _args, context) => {
        await context.caller();
        return viewerOf(context);
      },
    }),
  );
}
