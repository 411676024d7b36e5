import type { Hono } from "hono";
import { readStatus } from "../accounts/read-status.ts";
import { ServiceError } from "../errors/errors.ts";
import type { AppEnv } from "../http/app-env.ts";
import type { Drain } from "../http/drain.ts";
import type { Services } from "../services.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { mayReadMetrics } from "../telemetry/serve-metrics.ts";

/**
 * `/livez`: the process answers. `/readyz`: it may be sent requests. `/status`: how each chain is.
 *
 * `/readyz` is 503 only for conditions that another process may not have: this one's database is unreachable, or it is
 * shutting down. A lagging chain or a halted wallet is the same for all processes: taking all of them out would turn a
 * partial outage into a full one. With `?strict` those are 503 too.
 */
export function addHealth(app: Hono<AppEnv>, services: Services, drain: Drain, metrics: Metrics | null): void {
  app.get("/livez", (c) => c.text("ok"));
  app.get("/readyz", async (c) => {
    const [{ database, clock, replicas, chains }, disk, store] = await Promise.all([
      readStatus(services),
      services.disk.status(),
      services.content.cars.trouble(),
    ]);
    const reasons = [
      ...(drain.draining ? ["draining"] : []),
      ...(database === "ok" ? [] : [`database_${database}`]),
      ...(clock.wrong ? [`clock: ${clock.aheadSeconds} s ahead of the database's`] : []),
      ...replicas.flatMap(({ replica, trouble }) => (trouble ? [`replica ${replica}: ${trouble}`] : [])),
      // The details name hosts and keys of the operator: only the log and `mintyard doctor` show them.
      ...(store === null ? [] : ["content_store"]),
      ...disk.full.map((mark) => `storage_full: ${mark}`),
      ...chains.flatMap(({ chain, troubles }) => troubles.map((trouble) => `${chain}: ${trouble}`)),
    ];
    const ready = database === "ok" && !drain.draining;
    const good = ready && (c.req.query("strict") === undefined || reasons.length === 0);
    return c.json(
      { ready: good, degraded: ready && reasons.length > 0, draining: drain.draining, database, reasons },
      good ? 200 : 503,
    );
  });
  app.get("/status", async (c) => {
    const [status, disk, store] = await Promise.all([
      readStatus(services),
      services.disk.status(),
      services.content.cars.trouble(),
    ]);
    // The trouble's text names hosts and keys of the operator: see above.
    return c.json({ ...status, storage: { full: disk.full, store: store === null ? "ok" : "away" } });
  });
  app.get("/metrics", async (c) => {
    if (!metrics || !mayReadMetrics(c.env.incoming, services.config.metrics.token))
      throw new ServiceError("not_found", "nothing is served at /metrics");
    return c.text(await metrics.registry.metrics(), 200, { "Content-Type": metrics.registry.contentType });
  });
}
