import type { Hono } from "hono";
import { readStatus } from "../accounts/read-status.ts";
import type { Services } from "../services.ts";
import type { AppEnv } from "./app-env.ts";
import type { Drain } from "./drain.ts";
import { renderMetrics } from "./metrics.ts";

/** `/livez`: the process answers. `/readyz`: its database does too. `/status`: per chain, how far the index is. */
export function addHealth(app: Hono<AppEnv>, services: Services, drain: Drain): void {
  app.get("/livez", (c) => c.text("ok"));
  app.get("/readyz", async (c) => {
    const status = await readStatus(services);
    const ready = status.database === "ok" && !drain.draining;
    return c.json({ ready, draining: drain.draining, ...status }, ready ? 200 : 503);
  });
  app.get("/status", async (c) => c.json(await readStatus(services)));
  app.get("/metrics", (c) => c.text(renderMetrics(), 200, { "Content-Type": "text/plain; version=0.0.4" }));
}
