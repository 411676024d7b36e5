import { requireOwnPepper } from "../../src/config/config.ts";
import { listDeliveries, sendTestEvent } from "../../src/events/webhook-deliveries.ts";
import type { WebhookOwner, WebhookServices } from "../../src/events/webhook-record.ts";
import {
  createWebhook,
  deleteWebhook,
  listWebhooks,
  pauseWebhook,
  resumeWebhook,
  rotateWebhookSecret,
} from "../../src/events/webhooks.ts";
import { chainNames } from "../../src/outbox/event-row.ts";
import { asOperator } from "../operator.ts";

export interface OperatorEndpointOptions {
  types?: string | undefined;
  chains?: string | undefined;
  description?: string | undefined;
}

const listOf = (text: string | undefined) => text?.split(",").map((item) => item.trim());

/** Creates an endpoint for the operator's events; prints its secret, which cannot be shown again. */
export async function createOperatorEndpoint(url: string, options: OperatorEndpointOptions): Promise<number> {
  return await asOwner(async (services, owner) => {
    requireOwnPepper(services.config);
    const { types, chains, description } = options;
    return [await createWebhook(services, owner, { url, description, types: listOf(types), chains: listOf(chains) })];
  });
}

export async function listOperatorEndpoints(): Promise<number> {
  return await asOwner(listWebhooks);
}

const actions = {
  pause: pauseWebhook,
  resume: resumeWebhook,
  delete: deleteWebhook,
  rotate: rotateWebhookSecret,
  test: async (services: WebhookServices, owner: WebhookOwner, id: string) => ({
    eventId: await sendTestEvent(services, owner, id),
  }),
};

export async function actOnOperatorEndpoint(action: keyof typeof actions, id: string): Promise<number> {
  return await asOwner(async (services, owner) => [await actions[action](services, owner, id)]);
}

export async function listOperatorDeliveries(id: string): Promise<number> {
  return await asOwner(async (services, owner) => await listDeliveries(services, owner, id));
}

async function asOwner(
  run: (services: WebhookServices, owner: WebhookOwner) => Promise<readonly unknown[]>,
): Promise<number> {
  return await asOperator(async ({ db, pool, config }, actor) => {
    const { chains } = config;
    return await run(
      { db, pool, config, chains, feed: { nameOfChain: chainNames(chains) } },
      { accountId: null, actor },
    );
  });
}
