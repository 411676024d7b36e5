import { filterFields, newWebhookFields, webhookFields } from "../events/event-input.ts";
import {
  type Delivery,
  deliveryMembers,
  listDeliveries,
  replay,
  replayFields,
  sendTestEvent,
  testFields,
} from "../events/webhook-deliveries.ts";
import { type DeliveryTry, tryMembers, type Webhook, webhookMembers } from "../events/webhook-record.ts";
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  listWebhooks,
  pauseWebhook,
  resumeWebhook,
  rotateFields,
  rotateWebhookSecret,
  verifyWebhook,
} from "../events/webhooks.ts";
import { type Builder, oncePerBuilder, present, sessionOf } from "./builder.ts";
import { eventFilterType } from "./events.ts";
import { exposeMembers } from "./expose-members.ts";
import { argsOf, inputTypeOf, readInput } from "./inputs.ts";
import { payloadType, withUserErrors } from "./user-errors.ts";
import { viewerType } from "./viewer.ts";

interface Made {
  webhook: Webhook;
  secret?: string;
}

const endpointId = { required: true, description: "The id of the webhook endpoint, `wh_…`." } as const;

const webhookType = oncePerBuilder((builder) => builder.objectRef<Webhook>("Webhook"));

const tryType = oncePerBuilder((builder) =>
  builder.objectRef<DeliveryTry>("WebhookTry").implement({
    description: "One attempt to deliver a message to a webhook endpoint, and its result.",
    fields: (t) => exposeMembers(t, tryMembers),
  }),
);

/** Webhook endpoints of the caller's account, as in `/v1/webhooks`. Changing them needs the scope ADMIN. */
export function addWebhooks(builder: Builder): void {
  addTypes(builder);
  addReads(builder);
  addChanges(builder);
  addSending(builder);
}

function addTypes(builder: Builder): void {
  webhookType(builder).implement({
    description: "A webhook endpoint: a URL that the service sends events to.",
    fields: (t) => ({
      ...exposeMembers(t, webhookMembers),
      verificationTry: t.field({
        type: tryType(builder),
        nullable: true,
        description: "The last attempt to send the challenge. Null before the first.",
        resolve: ({ verificationTry }) => verificationTry,
      }),
    }),
  });
}

function addReads(builder: Builder): void {
  const delivery = builder.objectRef<Delivery>("WebhookDelivery").implement({
    description: "The delivery of one event to one webhook endpoint.",
    fields: (t) => ({
      ...exposeMembers(t, deliveryMembers),
      tries: t.field({
        type: [tryType(builder)],
        description: "The delivery attempts so far.",
        complexity: { multiplier: 2 },
        resolve: ({ tries }) => [...tries],
      }),
    }),
  });
  builder.objectField(viewerType(builder), "webhooks", (t) =>
    t.field({
      type: [webhookType(builder)],
      nullable: true,
      description: "All webhook endpoints of the account, oldest first.",
      resolve: async (_viewer, _args, context) => await listWebhooks(context.services, await sessionOf(context)),
    }),
  );
  builder.objectField(viewerType(builder), "webhookDeliveries", (t) =>
    t.field({
      type: [delivery],
      nullable: true,
      description: "The newest 50 deliveries of a webhook endpoint, with their attempts.",
      args: {
        webhook: t.arg.id(endpointId),
        state: t.arg.string({ description: "Only deliveries in this state: pending, delivered or dead." }),
        before: t.arg.id({ description: "The id of the last delivery of the previous page, to get older ones." }),
      },
      resolve: async (_viewer, { webhook, ...which }, context) =>
        await listDeliveries(context.services, await sessionOf(context), webhook, present(which)),
    }),
  );
}

function addChanges(builder: Builder): void {
  const payload = payloadType<Made>(
    builder,
    "WebhookPayload",
    "mutations that create, change or delete a webhook endpoint",
    (t) => ({
      webhook: t.expose("webhook", {
        type: webhookType(builder),
        nullable: true,
        description: "The endpoint after the call. Null if there are user errors.",
      }),
      secret: t.exposeString("secret", {
        nullable: true,
        description:
          "The secret that messages are signed with, `whsec_…`. Only in the answers of `createWebhook` and `rotateWebhookSecret`.",
      }),
    }),
  );
  const filter = eventFilterType(builder);
  builder.mutationField("createWebhook", (t) =>
    t.field({
      type: payload,
      nullable: true,
      description: "Creates a webhook endpoint. It receives events from now on, once it has answered a challenge.",
      args: {
        ...argsOf(t, newWebhookFields),
        filter: t.arg({ type: filter, description: "Which events the endpoint receives. All events if omitted." }),
      },
      resolve: async (_root, { filter: wanted, ...args }, context) =>
        await withUserErrors(sessionOf(context), (session) =>
          createWebhook(context.services, session, {
            ...readInput(newWebhookFields, args),
            ...readInput(filterFields, wanted ?? {}),
          }),
        ),
    }),
  );
  builder.mutationField("changeWebhook", (t) =>
    t.field({
      type: payload,
      nullable: true,
      description: "Changes the given settings of a webhook endpoint.",
      args: {
        id: t.arg.id(endpointId),
        ...argsOf(t, webhookFields),
        filter: t.arg({
          type: filter,
          description: "Which events the endpoint receives. Members that are omitted stay as they are.",
        }),
      },
      resolve: async (_root, { id, filter: wanted, ...args }, context) =>
        await withUserErrors(sessionOf(context), async (session) => ({
          webhook: await changeWebhook(context.services, session, id, {
            ...readInput(webhookFields, args),
            ...readInput(filterFields, wanted ?? {}),
          }),
        })),
    }),
  );
  for (const [name, description, change] of [
    ["pauseWebhook", "Pauses a webhook endpoint. Its events wait.", pauseWebhook],
    ["resumeWebhook", "Resumes a paused or disabled webhook endpoint where it stopped.", resumeWebhook],
    [
      "verifyWebhook",
      "Sends a webhook endpoint a new challenge, which it must answer to receive messages.",
      verifyWebhook,
    ],
    ["deleteWebhook", "Deletes a webhook endpoint and the messages that wait for it.", deleteWebhook],
  ] as const)
    builder.mutationField(name, (t) =>
      t.field({
        type: payload,
        nullable: true,
        description,
        args: { id: t.arg.id(endpointId) },
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
      description:
        "Creates a new secret for a webhook endpoint. Messages are signed with both secrets until the overlap ends.",
      args: {
        id: t.arg.id(endpointId),
        ...argsOf(t, rotateFields),
      },
      resolve: async (_root, { id, ...args }, context) =>
        await withUserErrors(sessionOf(context), (session) =>
          rotateWebhookSecret(context.services, session, id, readInput(rotateFields, args).overlapSeconds),
        ),
    }),
  );
}

function addSending(builder: Builder): void {
  const sent = payloadType<{ eventId: string }>(builder, "TestEventPayload", "`sendTestEvent`", (t) => ({
    eventId: t.exposeID("eventId", {
      nullable: true,
      description: "The id of the test event. Null if there are user errors.",
    }),
  }));
  builder.mutationField("sendTestEvent", (t) =>
    t.field({
      type: sent,
      nullable: true,
      description: "Sends a webhook endpoint a test event, with `test: true` in its data.",
      args: {
        webhook: t.arg.id(endpointId),
        ...argsOf(t, testFields),
      },
      resolve: async (_root, { webhook, ...args }, context) =>
        await withUserErrors(sessionOf(context), async (session) => ({
          eventId: await sendTestEvent(context.services, session, webhook, readInput(testFields, args).type),
        })),
    }),
  );
  const replayed = payloadType<{ replayed: number }>(builder, "ReplayEventsPayload", "`replayEvents`", (t) => ({
    replayed: t.exposeInt("replayed", {
      nullable: true,
      description: "The number of events that are sent again. Null if there are user errors.",
    }),
  }));
  const which = inputTypeOf(
    builder,
    "ReplayEventsInput",
    "Which events to send again: one event, the events of a period, the transfers of a block range, or all deliveries that were given up.",
    replayFields,
  );
  builder.mutationField("replayEvents", (t) =>
    t.field({
      type: replayed,
      nullable: true,
      description: "Sends events to a webhook endpoint again, with the same ids; up to 10,000.",
      args: {
        webhook: t.arg.id(endpointId),
        events: t.arg({ type: which, required: true, description: "Which events to send again." }),
      },
      resolve: async (_root, { webhook, events }, context) =>
        await withUserErrors(sessionOf(context), async (session) => ({
          replayed: await replay(context.services, session, webhook, readInput(replayFields, events)),
        })),
    }),
  );
}
