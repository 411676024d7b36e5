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
    description:
      "The limits of the account's plan. Null means no limit. `maxContracts` and `maxMints` count per chain.",
    fields: (t) => ({
      tier: t.exposeString("tier", { description: "The name of the plan: free, growth, scale or enterprise." }),
      readsPerSecond: t.exposeInt("readsPerSecond", {
        nullable: true,
        description: "Read requests per second. An expensive query counts as several.",
      }),
      uploadsPerMinute: t.exposeInt("uploadsPerMinute", {
        nullable: true,
        description: "Uploads per minute. A large directory counts as several.",
      }),
      deploysPerMinute: t.exposeInt("deploysPerMinute", {
        nullable: true,
        description: "Mutations per minute, except uploads and metadata refreshes.",
      }),
      requestsPerMonth: t.field({
        type: "Uint256",
        nullable: true,
        description: "Read requests per calendar month (UTC).",
        resolve: (item) => item.requestsPerMonth,
      }),
      maxContracts: t.exposeInt("maxContracts", {
        nullable: true,
        description: "The maximum number of contracts that the service deploys for the account, per chain.",
      }),
      maxMints: t.exposeInt("maxMints", {
        nullable: true,
        description:
          "The maximum number of tokens that the service mints, burns or transfers for the account, per chain. A request that uses much gas counts once per 500,000 gas or part of it, if that is more.",
      }),
      maxSupply: t.field({
        type: "Uint256",
        nullable: true,
        description: "The largest `maxSupply` of a collection.",
        resolve: (item) => item.maxSupply,
      }),
      paidChains: t.exposeBoolean("paidChains", {
        description: "Whether the account can deploy on chains where deployments have a fee.",
      }),
      windowDays: t.exposeInt("windowDays", {
        nullable: true,
        description: "How many days a chain's list of latest NFTs goes back.",
      }),
      storageBytes: t.field({
        type: "Uint256",
        nullable: true,
        description: "The maximum size of the account's uploads in bytes. Identical content counts once.",
        resolve: (item) => item.storageBytes,
      }),
      maxAwaitedDeployments: t.exposeInt("maxAwaitedDeployments", {
        nullable: true,
        description: "The maximum number of deployments with mode SIGN that are prepared but not yet sent.",
      }),
      maxAllowlists: t.exposeInt("maxAllowlists", {
        nullable: true,
        description: "The maximum number of presale lists that the service stores for the account.",
      }),
      allowlistBytes: t.field({
        type: "Uint256",
        nullable: true,
        description: "The maximum total size of the account's presale lists, in bytes.",
        resolve: (item) => item.allowlistBytes,
      }),
      uploadsAtOnce: t.exposeInt("uploadsAtOnce", {
        nullable: true,
        description: "Concurrent uploads per server process. Further uploads wait for a while and are then refused.",
      }),
      transactionsPerDay: t.exposeInt("transactionsPerDay", {
        nullable: true,
        description:
          "Deployments and updates per day (UTC), on all chains. Each counts once per 500,000 gas or part of it.",
      }),
      transactionsPerMonth: t.exposeInt("transactionsPerMonth", {
        nullable: true,
        description:
          "Deployments and updates per calendar month (UTC), on all chains. Each counts once per 500,000 gas or part of it.",
      }),
      deployRequestsPerDay: t.exposeInt("deployRequestsPerDay", {
        nullable: true,
        description:
          "Mutations per day, except uploads and metadata refreshes. Dry runs and refused requests count too.",
      }),
      uploadRequestsPerDay: t.exposeInt("uploadRequestsPerDay", {
        nullable: true,
        description: "Uploads per day. Dry runs and refused uploads count too.",
      }),
      maxWebhooks: t.exposeInt("maxWebhooks", {
        nullable: true,
        description: "The maximum number of webhook endpoints of the account.",
      }),
      webhookTriesPerDay: t.exposeInt("webhookTriesPerDay", {
        nullable: true,
        description: "Messages to all webhook endpoints per day (UTC), including failed ones. Further messages wait.",
      }),
      wholeChainWebhooks: t.exposeBoolean("wholeChainWebhooks", {
        description:
          "Whether a webhook endpoint can receive events of whole chains. If false, its filter must name contracts.",
      }),
    }),
  });
  const chainUsage = builder.objectRef<ChainUsage>("ChainUsage").implement({
    description:
      "What the account has used on one chain. Requests that failed, expired or were cancelled do not count.",
    fields: (t) => ({
      chain: t.expose("chain", { type: "ChainName", description: "The name of the chain, such as polygon." }),
      contractsTotal: t.exposeInt("contractsTotal", {
        description: "Contracts that the service has deployed for the account, in total.",
      }),
      contractsThisPeriod: t.exposeInt("contractsThisPeriod", {
        description: "Contracts that the service has deployed for the account in this calendar month (UTC).",
      }),
      mintsTotal: t.exposeInt("mintsTotal", {
        description:
          "Tokens that the service has minted, burned or transferred for the account, in total. Counted as `maxMints` of the plan.",
      }),
      mintsThisPeriod: t.exposeInt("mintsThisPeriod", {
        description:
          "Tokens that the service has minted, burned or transferred for the account in this calendar month (UTC). Counted as `maxMints` of the plan.",
      }),
      gasTodayWei: t.expose("gasTodayWei", {
        type: "Wei",
        description: "The cost of the account's transactions of today (UTC), paid or reserved, in wei.",
      }),
      maxGasPerDayWei: t.expose("maxGasPerDayWei", {
        type: "Wei",
        description: "The maximum cost of the account's transactions per day (UTC), in wei.",
      }),
      gasThisMonthWei: t.expose("gasThisMonthWei", {
        type: "Wei",
        description:
          "The cost of the account's transactions of this calendar month (UTC), paid or reserved, in wei. Only counted if `maxGasPerMonthWei` is set.",
      }),
      maxGasPerMonthWei: t.expose("maxGasPerMonthWei", {
        type: "Wei",
        nullable: true,
        description:
          "The maximum cost of the account's transactions per calendar month (UTC), in wei. Null if only the daily limit applies.",
      }),
    }),
  });
  const usage = builder.objectRef<Account>("Usage").implement({
    description: "What the account has used. A period is a calendar month (UTC).",
    fields: (t) => ({
      periodStart: t.expose("periodStart", {
        type: "DateTime",
        description: "The start of this calendar month (UTC).",
      }),
      periodEnd: t.expose("periodEnd", { type: "DateTime", description: "The end of this calendar month (UTC)." }),
      requestsThisPeriod: t.exposeInt("requestsThisPeriod", {
        description: "Read requests of this calendar month. The count can be a second old.",
      }),
      storedBytes: t.expose("storedBytes", {
        type: "Uint256",
        description: "The size of the account's uploads in bytes. Identical content counts once.",
      }),
      transactionsToday: t.exposeInt("transactionsToday", {
        description:
          "Deployments and updates of today (UTC) on all chains, except those that ended without a nonce. Counted as `transactionsPerDay` of the plan.",
      }),
      transactionsThisPeriod: t.exposeInt("transactionsThisPeriod", {
        description:
          "Deployments and updates of this calendar month (UTC) on all chains, except those that ended without a nonce. Counted as `transactionsPerMonth` of the plan.",
      }),
      webhooks: t.exposeInt("webhooks", { description: "The number of the account's webhook endpoints." }),
      webhookTriesToday: t.exposeInt("webhookTriesToday", {
        description: "Messages sent to the account's webhook endpoints today (UTC).",
      }),
      chains: t.field({
        type: [chainUsage],
        description: "The usage on each chain of this installation.",
        complexity: { multiplier: 5 },
        resolve: (account) => account.usage,
      }),
    }),
  });
  const charge = builder.objectRef<Charge>("Charge").implement({
    description: "A fee for a deployment or an update on a chain with fees. The operator of the service settles it.",
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
    description: "The account of the request's key.",
    fields: (t) => ({
      id: t.id({ description: "The id of the account.", resolve: async ({ account }) => (await account()).id }),
      name: t.string({
        description: "The name of the account.",
        resolve: async ({ account }) => (await account()).name,
      }),
      email: t.string({
        nullable: true,
        description: "The e-mail address of the account. Null if it has none.",
        resolve: async ({ account }) => (await account()).email,
      }),
      createdAt: t.field({
        type: "DateTime",
        description: "When the account was opened.",
        resolve: async ({ account }) => (await account()).createdAt,
      }),
      plan: t.field({
        type: plan,
        description: "The limits of the account's plan.",
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
      description: "The account of the request's key, and its data.",
      resolve: async (_root, _args, context) => {
        await context.caller();
        return viewerOf(context);
      },
    }),
  );
}
