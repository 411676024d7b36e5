import type pg from "pg";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

/** One process's metrics. Labels have few values by construction: never an id, a key, a client's address or a path. */
export interface Metrics {
  registry: Registry;
  requests: Histogram<"method" | "route" | "status">;
  load: { inFlight: number };
}

/**
 * Heap, garbage collection, event loop, CPU, memory and open files are measured only from the first scrape on:
 * measuring the event loop's delay wakes a process a hundred times a second, and most installations are never scraped.
 */
class ReadRegistry extends Registry {
  #isRead = false;

  override async metrics(): Promise<string> {
    if (!this.#isRead) collectDefaultMetrics({ register: this });
    this.#isRead = true;
    return await super.metrics();
  }
}

/** @param process `api`, `worker` or `indexer`: a label of every metric. */
export function createMetrics(process: string): Metrics {
  const registry = new ReadRegistry();
  registry.setDefaultLabels({ process });
  const load = { inFlight: 0 };
  exportGauge(registry, {
    name: "mintyard_http_requests_in_flight",
    help: "Requests without a whole answer yet.",
    read: () => load.inFlight,
  });
  return {
    ...{ registry, load },
    requests: new Histogram({
      name: "mintyard_http_request_duration_seconds",
      help: "From the request's headers to the end of its answer, by route template.",
      labelNames: ["method", "route", "status"],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers: [registry],
    }),
  };
}

/** A value that is kept elsewhere and read at each scrape. */
interface Exported {
  name: string;
  help: string;
  labelNames?: string[];
  /** The current value; with labels, one value for each set of them. */
  read: () => number | Iterable<readonly [labels: Record<string, string>, value: number]>;
}

export function exportCounter(registry: Registry, { read, ...about }: Exported): void {
  new Counter({
    ...about,
    registers: [registry],
    collect() {
      this.reset();
      for (const [labels, value] of valuesOf(read)) this.inc(labels, value);
    },
  });
}

export function exportGauge(registry: Registry, { read, ...about }: Exported): void {
  new Gauge({
    ...about,
    registers: [registry],
    collect() {
      this.reset();
      for (const [labels, value] of valuesOf(read)) this.set(labels, value);
    },
  });
}

function valuesOf(read: Exported["read"]) {
  const values = read();
  return typeof values === "number" ? [[{}, values] as const] : values;
}

/** Callers within this time share one reading: a flood of scrapes costs no more than one. */
export function readCached<T>(keptMs: number, read: () => Promise<T>): () => Promise<T> {
  let kept: { until: number; reading: Promise<T> } | null = null;
  return async () => {
    const now = performance.now();
    if (!kept || kept.until < now) kept = { until: now + keptMs, reading: read() };
    return await kept.reading;
  };
}

/**
 * Makes gauges from one shared reading; while it gives null, they have no series.
 *
 * @returns a function that adds one gauge; `fill` sets its series.
 */
export function gaugesOf<Figures>({ registry }: Metrics, read: () => Promise<Figures | null>) {
  type Fill = (set: (value: number, labels?: Record<string, string>) => void, figures: Figures) => void;
  return (name: string, help: string, labelNames: string[], fill: Fill) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        const figures = await read();
        this.reset();
        if (figures) fill((value, labels = {}) => this.set(labels, value), figures);
        // A reset alone would leave a 0 that nobody measured.
        else if (labelNames.length === 0) this.remove();
      },
    });
}

/** A pool's connections: in use, idle, and requests waiting for one. */
export function watchPool({ registry }: Metrics, pool: pg.Pool): void {
  exportGauge(registry, {
    name: "mintyard_db_pool_connections",
    help: "Connections to PostgreSQL, and who waits for one.",
    labelNames: ["state"],
    read: () => [
      [{ state: "busy" }, pool.totalCount - pool.idleCount],
      [{ state: "idle" }, pool.idleCount],
      [{ state: "waiting" }, pool.waitingCount],
    ],
  });
}

/** Event streams to clients, and the events that were read for them. */
export function watchStreams(
  { registry }: Metrics,
  streams: { readonly open: number },
  feed: { readonly counts: { readonly events: number } },
): void {
  exportCounter(registry, {
    name: "mintyard_stream_events_total",
    help: "Events that this process read, once each however many streams get them.",
    read: () => feed.counts.events,
  });
  exportGauge(registry, {
    name: "mintyard_open_streams",
    help: "Subscriptions that are open.",
    read: () => streams.open,
  });
}

interface Waiting {
  running: number;
  waiting: number;
}

/** Clients' work that may have to wait in this process. */
export function watchWaiting(
  { registry }: Metrics,
  { heavyReads, uploads }: { heavyReads: () => readonly ReadonlyMap<string, Waiting>[]; uploads: () => Waiting },
): void {
  const sum = (plan: string, state: keyof Waiting) =>
    heavyReads().reduce((total, server) => total + (server.get(plan)?.[state] ?? 0), 0);
  exportGauge(registry, {
    name: "mintyard_heavy_reads",
    help: "Reads that may touch many rows, by plan: under way, and waiting for a connection.",
    labelNames: ["state", "plan"],
    read: () =>
      ["free", "growth", "scale", "enterprise", "none"].flatMap((plan) => [
        [{ state: "running", plan }, sum(plan, "running")],
        [{ state: "waiting", plan }, sum(plan, "waiting")],
      ]),
  });
  exportGauge(registry, {
    name: "mintyard_uploads",
    help: "Uploads under way, and those that wait for another one of their account.",
    labelNames: ["state"],
    read: () => {
      const { running, waiting } = uploads();
      return [
        [{ state: "running" }, running],
        [{ state: "waiting" }, waiting],
      ];
    },
  });
}

/** Answers of nodes that the indexer's gateway refused, by reason. */
export function watchRefusals({ registry }: Metrics, chain: string, refusals: () => ReadonlyMap<string, number>): void {
  exportCounter(registry, {
    name: "mintyard_rpc_refused_answers_total",
    help: "Answers of nodes that were not believed.",
    labelNames: ["chain", "reason"],
    read: () => [...refusals()].map(([reason, count]) => [{ chain, reason }, count]),
  });
}

/** Faults of the chain's endpoints, by their position in `RPC_URL_<CHAIN>` (without websockets) and by class. */
export function watchFaults(
  { registry }: Metrics,
  chain: string,
  endpoints: () => readonly { faults: ReadonlyMap<string, number> }[],
): void {
  exportCounter(registry, {
    name: "mintyard_rpc_faults_total",
    help: "Answers of an endpoint that the indexer could not use.",
    labelNames: ["chain", "endpoint", "class"],
    read: () =>
      endpoints().flatMap(({ faults }, endpoint) =>
        [...faults].map(([kind, count]) => [{ chain, endpoint: String(endpoint), class: kind }, count]),
      ),
  });
}

interface ReadServers {
  replicas(): { replica: string; reads: number }[];
  fallbacks: number;
}

/** Which servers answer the reads of this process. */
export function watchReplicas({ registry }: Metrics, pool: ReadServers): void {
  exportCounter(registry, {
    name: "mintyard_replica_reads_total",
    help: "Reads of the index that a standby answered.",
    labelNames: ["replica"],
    read: () => pool.replicas().map(({ replica, reads }) => [{ replica }, reads]),
  });
  exportCounter(registry, {
    name: "mintyard_replica_fallbacks_total",
    help: "Reads that a standby failed and the primary answered.",
    read: () => pool.fallbacks,
  });
}
