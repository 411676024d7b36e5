import type { Context } from "hono";
import { ServiceError, wrongType } from "../errors/errors.ts";
import type { WebhookInput } from "../events/event-input.ts";
import { listDeliveries, replay, sendTestEvent } from "../events/webhook-deliveries.ts";
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  pauseWebhook,
  resumeWebhook,
  rotateWebhookSecret,
  verifyWebhook,
} from "../events/webhooks.ts";
import type { Services } from "../services.ts";
import { ok } from "./answer.ts";
import type { V0App, V0Env } from "./app.ts";
import { Input } from "./input.ts";
import { JsonNumber, parseJsonObject, readBody } from "./json-body.ts";

const bodyBytes = 65_536;
const lists = ["types", "chains", "contracts", "accounts", "tokenIds"] as const;
const members: ReadonlySet<string> = new Set([...lists, "url", "description", "finality"]);

/** /webhooks: endpoints of the caller's account. Changing them needs the scope admin. */
export function addWebhooks(app: V0App, services: Services): void {
  app.get("/webhooks", async (c) => {
    const found = await listWebhooks(services, c.get("session"));
    return ok(c, { webhooks: found });
  });
  app.post("/webhooks", async (c) => {
    const made = await createWebhook(services, c.get("session"), await readInput(c));
    return ok(c, { webhook: made.webhook, secret: made.secret });
  });
  app.get("/webhooks/:id", async (c) =>
    ok(c, { webhook: await getWebhook(services, c.get("session"), c.req.param("id")) }),
  );
  app.patch("/webhooks/:id", async (c) => {
    const changed = await changeWebhook(services, c.get("session"), c.req.param("id"), await readInput(c));
    return ok(c, { webhook: changed });
  });
  for (const [word, change] of [
    ["pause", pauseWebhook],
    ["resume", resumeWebhook],
    ["verify", verifyWebhook],
  ] as const)
    app.post(`/webhooks/:id/${word}`, async (c) =>
      ok(c, { webhook: await change(services, c.get("session"), c.req.param("id")) }),
    );
  app.delete("/webhooks/:id", async (c) =>
    ok(c, { webhook: await deleteWebhook(services, c.get("session"), c.req.param("id")) }),
  );
  app.post("/webhooks/:id/rotate", async (c) => {
    const input = Input.fromBody(await readObject(c));
    const seconds = input.integer("overlapSeconds");
    input.check();
    const overlap = seconds === undefined ? undefined : Number(seconds);
    const rotated = await rotateWebhookSecret(services, c.get("session"), c.req.param("id"), overlap);
    return ok(c, { webhook: rotated.webhook, secret: rotated.secret });
  });
  app.post("/webhooks/:id/test", async (c) => {
    const input = Input.fromBody(await readObject(c));
    const type = input.text("type");
    input.check();
    return ok(c, { eventId: await sendTestEvent(services, c.get("session"), c.req.param("id"), type) });
  });
  app.get("/webhooks/:id/deliveries", async (c) => {
    const { state, before } = c.req.query();
    const found = await listDeliveries(services, c.get("session"), c.req.param("id"), { state, before });
    return ok(c, { deliveries: found });
  });
  app.post("/webhooks/:id/replay", async (c) => {
    const input = Input.fromBody(await readObject(c));
    const wanted = {
      eventId: input.text("eventId"),
      since: input.date("since"),
      until: input.date("until"),
      fromBlock: input.integer("fromBlock"),
      toBlock: input.integer("toBlock"),
      failed: input.boolean("failed"),
    };
    input.check();
    return ok(c, { replayed: await replay(services, c.get("session"), c.req.param("id"), wanted) });
  });
}

async function readObject(c: Context<V0Env>): Promise<Record<string, unknown>> {
  const text = await readBody(c.env.incoming, bodyBytes);
  return text.trim() === "" ? {} : parseJsonObject(text);
}

/** @throws ServiceError also for members that nobody asked for: a misspelt filter would let everything through. */
async function readInput(c: Context<V0Env>): Promise<WebhookInput> {
  const body = await readObject(c);
  for (const name of Object.keys(body))
    if (!members.has(name))
      throw new ServiceError("value_error", `"${name.slice(0, 40)}" is no member of an endpoint`, { field: name });
  const input = Input.fromBody(body);
  const read: WebhookInput = {
    url: input.text("url"),
    description: input.text("description", { emptyIsText: true }),
    finality: input.text("finality"),
  };
  input.check();
  return { ...read, ...Object.fromEntries(lists.map((name) => [name, readList(body[name], name)])) };
}

function readList(value: unknown, field: string): string[] | undefined {
  if (value === undefined || value === null) return undefined;
  const texts = Array.isArray(value) ? value.map((item) => (item instanceof JsonNumber ? item.source : item)) : [null];
  if (texts.every((item): item is string => typeof item === "string")) return texts;
  throw wrongType(field, "an array of strings");
}
