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
 * Only what another process would do better makes `/readyz` 503: this one's database is away, or it is
 * leaving. A chain that lags or a wallet that is halted is the same for all of them: taking all out would turn
 * a part of the service that does not work into a service that does not; `?strict` says 503 then too.
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
      // Its words name hosts and keys of the operator: they are in the log, and doctor says them.
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
    // What its trouble says names hosts and keys of the operator: see above.
    return c.json({ ...status, storage: { full: disk.full, store: store === null ? "ok" : "away" } });
  });
  app.get("/metrics", async (c) => {
    if (!metrics || !mayReadMetrics(c.env.incoming, services.config.metrics.token))
      throw new ServiceError("not_found", "nothing is served at /metrics");
    return c.text(await metrics.registry.metrics(), 200, { "Content-Type": metrics.registry.contentType });
  });
}
