import { type Account, type ChainUsage, type Charge, getAccount, listCharges } from "../accounts/get-account.ts";
import type { Plan } from "../auth/plans.ts";
import { type Builder, sessionOf } from "./builder.ts";

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
      uploadsAtOnce: t.exposeInt("uploadsAtOnce", {
        nullable: true,
        description: "Of one account in one process; further uploads wait for a while.",
      }),
    }),
  });
  const chainUsage = builder.objectRef<ChainUsage>("ChainUsage").implement({
    fields: (t) => ({
      chain: t.exposeString("chain"),
      contractsTotal: t.exposeInt("contractsTotal"),
      contractsThisPeriod: t.exposeInt("contractsThisPeriod"),
      mintsTotal: t.exposeInt("mintsTotal"),
      mintsThisPeriod: t.exposeInt("mintsThisPeriod"),
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
      chains: t.field({ type: [chainUsage], complexity: { multiplier: 5 }, resolve: (account) => account.usage }),
    }),
  });
  const charge = builder.objectRef<Charge>("Charge").implement({
    description: "A fee that a deployment on a paid chain booked; the operator settles it.",
    fields: (t) => ({
      id: t.exposeID("id"),
      chain: t.exposeString("chain"),
      kind: t.exposeString("kind"),
      usdCents: t.exposeInt("usdCents"),
      state: t.exposeString("state"),
      createdAt: t.expose("createdAt", { type: "DateTime" }),
    }),
  });
  const viewer = builder.objectRef<Account>("Viewer").implement({
    description: "The account behind the request's key.",
    fields: (t) => ({
      id: t.exposeID("id"),
      name: t.exposeString("name"),
      email: t.exposeString("email", { nullable: true }),
      createdAt: t.expose("createdAt", { type: "DateTime" }),
      plan: t.field({ type: plan, resolve: (account) => account.plan }),
      usage: t.field({ type: usage, resolve: (account) => account }),
      charges: t.field({
        type: [charge],
        nullable: true,
        description: "The newest 200.",
        resolve: async (_account, _args, context) => await listCharges(context.services, await sessionOf(context)),
      }),
    }),
  });
  builder.queryField("viewer", (t) =>
    t.field({
      type: viewer,
      nullable: true,
      resolve: async (_root, _args, context) => await getAccount(context.services, await sessionOf(context)),
    }),
  );
}
