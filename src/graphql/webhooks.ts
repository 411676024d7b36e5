import {
  type Delivery,
  listDeliveries,
  type ReplayInput,
  replay,
  sendTestEvent,
} from "../events/webhook-deliveries.ts";
import type { DeliveryTry, Webhook } from "../events/webhook-record.ts";
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  listWebhooks,
  pauseWebhook,
  resumeWebhook,
  rotateWebhookSecret,
  verifyWebhook,
} from "../events/webhooks.ts";
import { type Builder, oncePerBuilder, present, sessionOf } from "./builder.ts";
import { eventFilterType, textsOf } from "./events.ts";
import { payloadType, withUserErrors } from "./user-errors.ts";
import { viewerType } from "./viewer.ts";

interface Made {
  webhook: Webhook;
  secret?: string;
}

const webhookType = oncePerBuilder((builder) => builder.objectRef<Webhook>("Webhook"));

const tryType = oncePerBuilder((builder) =>
  builder.objectRef<DeliveryTry>("WebhookTry").implement({
    fields: (t) => ({
      attempt: t.exposeInt("attempt"),
      at: t.expose("at", { type: "DateTime" }),
      status: t.exposeInt("status", { nullable: true }),
      fault: t.exposeString("fault", {
        nullable: true,
        description: "Why there was no answer; no_challenge: it is not that of a challenge.",
      }),
      milliseconds: t.exposeInt("milliseconds"),
      answer: t.exposeString("answer", { nullable: true, description: "Its first kilobyte." }),
    }),
  }),
);

/** Endpoints of the caller's account, as `/v1/webhooks` has them. Changing them needs the scope ADMIN. */
export function addWebhooks(builder: Builder): void {
  addTypes(builder);
  addReads(builder);
  addChanges(builder);
  addSending(builder);
}

function addTypes(builder: Builder): void {
  webhookType(builder).implement({
    description: "An endpoint that the service sends events to.",
    fields: (t) => ({
      id: t.exposeID("id"),
      url: t.exposeString("url"),
      description: t.exposeString("description"),
      types: t.stringList({ description: "Empty: all.", resolve: ({ types }) => [...types] }),
      chains: t.stringList({ resolve: ({ chains }) => [...chains] }),
      contracts: t.stringList({ resolve: ({ contracts }) => [...contracts] }),
      accounts: t.stringList({ resolve: ({ accounts }) => [...accounts] }),
      tokenIds: t.stringList({ resolve: ({ tokenIds }) => [...tokenIds] }),
      finality: t.exposeString("finality", { description: "latest, safe or finalized: when a movement is told." }),
      state: t.exposeString("state", { description: "enabled, unverified, paused or disabled." }),
      disabledReason: t.exposeString("disabledReason", {
        nullable: true,
        description: "gone: it answered 410; failing: for five days.",
      }),
      disabledAt: t.expose("disabledAt", {
        type: "DateTime",
        nullable: true,
        description: "When it was disabled last.",
      }),
      waiting: t.exposeString("waiting", {
        nullable: true,
        description:
          "Why what waits is not sent although it is enabled. failed: a thousand messages failed and wait; tries: the plan's messages of the day are used; rate: its host gets no more in a second; storage: the service's is nearly full; verification: it has not answered its challenge.",
      }),
      verifiedAt: t.expose("verifiedAt", {
        type: "DateTime",
        nullable: true,
        description: "When it answered its challenge. Until then it is sent nothing else.",
      }),
      verificationTry: t.field({
        type: tryType(builder),
        nullable: true,
        description: "The last challenge that was sent to it.",
        resolve: ({ verificationTry }) => verificationTry,
      }),
      verificationAt: t.expose("verificationAt", {
        type: "DateTime",
        nullable: true,
        description: "When the next one is sent; null: none is, until you ask by `verifyWebhook`.",
      }),
      failingSince: t.expose("failingSince", { type: "DateTime", nullable: true }),
      publicKey: t.exposeString("publicKey", { description: "`whpk_…`: of the v1a signatures." }),
      createdAt: t.expose("createdAt", { type: "DateTime" }),
    }),
  });
}

function addReads(builder: Builder): void {
  const delivery = builder.objectRef<Delivery>("WebhookDelivery").implement({
    description: "One event on its way to one endpoint.",
    fields: (t) => ({
      id: t.exposeID("id"),
      eventId: t.exposeID("eventId"),
      type: t.exposeString("type"),
      sequence: t.exposeString("sequence", { nullable: true }),
      state: t.exposeString("state", { description: "pending, delivered or dead." }),
      attempts: t.exposeInt("attempts"),
      nextAt: t.expose("nextAt", { type: "DateTime", nullable: true }),
      createdAt: t.expose("createdAt", { type: "DateTime" }),
      tries: t.field({ type: [tryType(builder)], complexity: { multiplier: 2 }, resolve: ({ tries }) => [...tries] }),
    }),
  });
  builder.objectField(viewerType(builder), "webhooks", (t) =>
    t.field({
      type: [webhookType(builder)],
      nullable: true,
      description: "All of the account.",
      resolve: async (_viewer, _args, context) => await listWebhooks(context.services, await sessionOf(context)),
    }),
  );
  builder.objectField(viewerType(builder), "webhookDeliveries", (t) =>
    t.field({
      type: [delivery],
      nullable: true,
      description: "The newest 50 of an endpoint, with their tries.",
      args: {
        webhook: t.arg.id({ required: true }),
        state: t.arg.string({ description: "Only these: pending, delivered or dead." }),
        before: t.arg.id({ description: "The last one of the page before." }),
      },
      resolve: async (_viewer, { webhook, ...which }, context) =>
        await listDeliveries(context.services, await sessionOf(context), webhook, present(which)),
    }),
  );
}

function addChanges(builder: Builder): void {
  const payload = payloadType<Made>(builder, "WebhookPayload", (t) => ({
    webhook: t.expose("webhook", { type: webhookType(builder), nullable: true }),
    secret: t.exposeString("secret", {
      nullable: true,
      description: "`whsec_…`: of a new endpoint and of a rotation, in this answer only.",
    }),
  }));
  const filter = eventFilterType(builder);
  builder.mutationField("createWebhook", (t) =>
    t.field({
      type: payload,
      nullable: true,
      description: "Makes an endpoint; it gets what happens from now on, once it has answered a challenge.",
      args: { url: t.arg.string({ required: true }), description: t.arg.string(), filter: t.arg({ type: filter }) },
      resolve: async (_root, { url, description, filter: wanted }, context) =>
        await withUserErrors(sessionOf(context), (session) =>
          createWebhook(context.services, session, { url, description, ...textsOf(wanted) }),
        ),
    }),
  );
  builder.mutationField("changeWebhook", (t) =>
    t.field({
      type: payload,
      nullable: true,
      description: "Changes what is given; a list replaces a list.",
      args: {
        id: t.arg.id({ required: true }),
        url: t.arg.string(),
        description: t.arg.string(),
        filter: t.arg({ type: filter }),
      },
      resolve: async (_root, { id, url, description, filter: wanted }, context) =>
        await withUserErrors(sessionOf(context), async (session) => ({
          webhook: await changeWebhook(context.services, session, id, { url, description, ...textsOf(wanted) }),
        })),
    }),
  );
  for (const [name, description, change] of [
    ["pauseWebhook", "Stops sending; events wait.", pauseWebhook],
    ["resumeWebhook", "Goes on sending, also after it was disabled.", resumeWebhook],
    ["verifyWebhook", "Asks it anew whether it wants messages, by a challenge.", verifyWebhook],
    ["deleteWebhook", "Deletes it with what waits for it.", deleteWebhook],
  ] as const)
    builder.mutationField(name, (t) =>
      t.field({
        type: payload,
        nullable: true,
        description,
        args: { id: t.arg.id({ required: true }) },
        resolve: async (_root, { id }, context) =>
          await withUserErrors(sessionOf(context), async (session) => ({
            webhook: await change(context.services, session, id),
          })),
      }),
    );
  builder.mutationField("rotateWebhookSecret", (t) =>
    t.field({
      type: payload,
      nullable: true,
      description: "A new secret. Messages are signed with both until the overlap is over.",
      args: {
        id: t.arg.id({ required: true }),
        overlapSeconds: t.arg.int({ description: "0 to 604800; default a day." }),
      },
      resolve: async (_root, { id, overlapSeconds }, context) =>
        await withUserErrors(sessionOf(context), (session) =>
          rotateWebhookSecret(context.services, session, id, overlapSeconds ?? undefined),
        ),
    }),
  );
}

function addSending(builder: Builder): void {
  const sent = payloadType<{ eventId: string }>(builder, "TestEventPayload", (t) => ({
    eventId: t.exposeID("eventId", { nullable: true }),
  }));
  builder.mutationField("sendTestEvent", (t) =>
    t.field({
      type: sent,
      nullable: true,
      description: "Sends an invented event, with `test: true` in its data.",
      args: { webhook: t.arg.id({ required: true }), type: t.arg.string({ description: "Default webhook.test." }) },
      resolve: async (_root, { webhook, type }, context) =>
        await withUserErrors(sessionOf(context), async (session) => ({
          eventId: await sendTestEvent(context.services, session, webhook, type ?? undefined),
        })),
    }),
  );
  const replayed = payloadType<{ replayed: number }>(builder, "ReplayEventsPayload", (t) => ({
    replayed: t.exposeInt("replayed", { nullable: true, description: "How many." }),
  }));
  const which = builder.inputType("ReplayEventsInput", {
    description: "What is sent again: one event, a time, blocks, or all that was given up.",
    fields: (t) => ({
      eventId: t.id(),
      since: t.field({ type: "DateTime" }),
      until: t.field({ type: "DateTime" }),
      fromBlock: t.field({ type: "Uint256" }),
      toBlock: t.field({ type: "Uint256" }),
      failed: t.boolean(),
    }),
  });
  builder.mutationField("replayEvents", (t) =>
    t.field({
      type: replayed,
      nullable: true,
      description: "Sends events again with their ids, 10,000 at most.",
      args: { webhook: t.arg.id({ required: true }), events: t.arg({ type: which, required: true }) },
      resolve: async (_root, { webhook, events }, context) =>
        await withUserErrors(sessionOf(context), async (session) => ({
          replayed: await replay(context.services, session, webhook, events as ReplayInput),
        })),
    }),
  );
}
