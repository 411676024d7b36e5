import { filterFields, newWebhookFields, webhookFields } from "../events/event-input.ts";
import { listDeliveries, replay, replayFields, sendTestEvent, testFields } from "../events/webhook-deliveries.ts";
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  pauseWebhook,
  resumeWebhook,
  rotateFields,
  rotateWebhookSecret,
  verifyWebhook,
} from "../events/webhooks.ts";
import type { Services } from "../services.ts";
import { ok } from "./answer.ts";
import type { V0App } from "./app.ts";
import { readOwnBody } from "./bodies.ts";

/** The longest filter is about 20 KB. */
const filterBytes = 65_536;

/** /webhooks: endpoints of the caller's account. Changing them needs the scope admin. */
export function addWebhooks(app: V0App, services: Services): void {
  app.get("/webhooks", async (c) => {
    const found = await listWebhooks(services, c.get("session"));
    return ok(c, { webhooks: found });
  });
  app.post("/webhooks", async (c) => {
    const made = await createWebhook(
      services,
      c.get("session"),
      await readOwnBody(c.env.incoming, { ...newWebhookFields, ...filterFields }, filterBytes),
    );
    return ok(c, { webhook: made.webhook, secret: made.secret });
  });
  app.get("/webhooks/:id", async (c) =>
    ok(c, { webhook: await getWebhook(services, c.get("session"), c.req.param("id")) }),
  );
  app.patch("/webhooks/:id", async (c) => {
    const changes = await readOwnBody(c.env.incoming, { ...webhookFields, ...filterFields }, filterBytes);
    const changed = await changeWebhook(services, c.get("session"), c.req.param("id"), changes);
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
    const { overlapSeconds } = await readOwnBody(c.env.incoming, rotateFields);
    const rotated = await rotateWebhookSecret(services, c.get("session"), c.req.param("id"), overlapSeconds);
    return ok(c, { webhook: rotated.webhook, secret: rotated.secret });
  });
  app.post("/webhooks/:id/test", async (c) => {
    const { type } = await readOwnBody(c.env.incoming, testFields);
    return ok(c, { eventId: await sendTestEvent(services, c.get("session"), c.req.param("id"), type) });
  });
  app.get("/webhooks/:id/deliveries", async (c) => {
    const { state, before } = c.req.query();
    const found = await listDeliveries(services, c.get("session"), c.req.param("id"), { state, before });
    return ok(c, { deliveries: found });
  });
  app.post("/webhooks/:id/replay", async (c) => {
    const wanted = await readOwnBody(c.env.incoming, replayFields);
    return ok(c, { replayed: await replay(services, c.get("session"), c.req.param("id"), wanted) });
  });
}
