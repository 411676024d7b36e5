import { type Task, yours } from "../example.ts";

const userErrors = "userErrors { code field message fix }";
const webhook = `webhook { id url state types chains contracts verifiedAt } ${userErrors}`;
const id = { id: yours.webhookId };
const filter = { types: ["nft.transfer"], chains: [yours.chain], contracts: [yours.contract] };

export const streaming: Task = {
  title: "Receive events as a stream",
  about: "Server-sent events, from now on or from the last event that you have.",
  examples: [
    {
      title: "Stream all kinds of events",
      rest: "get /v1/events",
      graphql: "subscription events",
      select: "cursor type data",
      restInput: { types: ["mint", "nft.transfer"], chain: [yours.chain] },
      graphqlInput: { filter: { types: ["mint", "nft.transfer"], chains: [yours.chain] } },
    },
    {
      title: "Stream transfers",
      graphql: "subscription transfers",
      select: "cursor type data",
      graphqlInput: { filter: { chains: [yours.chain], contracts: [yours.contract] } },
    },
  ],
};

export const webhooks: Task = {
  title: "Receive events by webhooks",
  about: "Signed messages to your endpoint. Verify them with `verifyWebhook` of the TypeScript client.",
  examples: [
    {
      title: "Create an endpoint",
      rest: "post /v1/webhooks",
      graphql: "mutation createWebhook",
      select: `secret ${webhook}`,
      input: { url: yours.webhookUrl, description: "Shop" },
      restInput: filter,
      graphqlInput: { filter },
      note: "Store the secret: no later answer contains it.",
    },
    {
      title: "List your endpoints",
      rest: "get /v1/webhooks",
      graphql: "query viewer",
      select: "webhooks { id url state waiting }",
    },
    { title: "Read one endpoint", rest: "get /v1/webhooks/{id}", restInput: id },
    {
      title: "Send the challenge again",
      rest: "post /v1/webhooks/{id}/verify",
      graphql: "mutation verifyWebhook",
      select: webhook,
      input: id,
    },
    {
      title: "Send a test event",
      rest: "post /v1/webhooks/{id}/test",
      graphql: "mutation sendTestEvent",
      select: `eventId ${userErrors}`,
      input: { type: "mint.confirmed" },
      restInput: id,
      graphqlInput: { webhook: yours.webhookId },
    },
    {
      title: "Change an endpoint",
      rest: "patch /v1/webhooks/{id}",
      graphql: "mutation changeWebhook",
      select: webhook,
      input: id,
      restInput: { types: ["nft.transfer", "mint"] },
      graphqlInput: { filter: { types: ["nft.transfer", "mint"] } },
    },
    {
      title: "Pause an endpoint",
      rest: "post /v1/webhooks/{id}/pause",
      graphql: "mutation pauseWebhook",
      select: webhook,
      input: id,
    },
    {
      title: "Resume an endpoint",
      rest: "post /v1/webhooks/{id}/resume",
      graphql: "mutation resumeWebhook",
      select: webhook,
      input: id,
    },
    {
      title: "List deliveries",
      rest: "get /v1/webhooks/{id}/deliveries",
      graphql: "query viewer",
      select: "webhookDeliveries(webhook: $webhook) { id eventId type state attempts tries { status milliseconds } }",
      variables: { webhook: "ID!" },
      restInput: id,
      graphqlInput: { webhook: yours.webhookId },
    },
    {
      title: "Send events again",
      rest: "post /v1/webhooks/{id}/replay",
      graphql: "mutation replayEvents",
      select: `replayed ${userErrors}`,
      restInput: { ...id, failed: true },
      graphqlInput: { webhook: yours.webhookId, events: { failed: true } },
    },
    {
      title: "Rotate the secret",
      rest: "post /v1/webhooks/{id}/rotate",
      graphql: "mutation rotateWebhookSecret",
      select: `secret ${webhook}`,
      restInput: { ...id, overlapSeconds: 3600 },
      graphqlInput: { ...id, overlapSeconds: 3600 },
    },
    {
      title: "Delete an endpoint",
      rest: "delete /v1/webhooks/{id}",
      graphql: "mutation deleteWebhook",
      select: webhook,
      input: id,
    },
  ],
};
