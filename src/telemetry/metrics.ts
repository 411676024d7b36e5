import type pg from "pg";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

/** What one process counts. Labels are few by construction: never an id, a key, an address of a client or a path. */
export interface Metrics {
  registry: Registry;
  requests: Histogram<"method" | "route" | "status">;
  load: { inFlight: number };
}

/**
 * Heap, garbage collection, event loop, CPU, memory and open files are measured from the first reading on: for the event
 * loop's delay a process wakes a hundred times a second, and most installations have nobody who reads.
 */
class ReadRegistry extends Registry {
  #isRead = false;

  override async metrics(): Promise<string> {
    if (!this.#isRead) collectDefaultMetrics({ register: this });
    this.#isRead = true;
    return await super.metrics();
  }
}

/** @param process `api`, `worker` or `indexer`: a label of everything. */
export function createMetrics(process: string): Metrics {
  const registry = new ReadRegistry();
  registry.setDefaultLabels({ process });
  const load = { inFlight: 0 };
  new Gauge({
    name: "mintyard_http_requests_in_flight",
    help: "Requests without a whole answer yet.",
    registers: [registry],
    collect() {
      this.set(load.inFlight);
    },
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

/** Scrapes within this time share one reading: a flood of scrapes costs no more than one. */
export function readCached<T>(keptMs: number, read: () => Promise<T>): () => Promise<T> {
  let kept: { until: number; reading: Promise<T> } | null = null;
  return async () => {
    const now = performance.now();
    if (!kept || kept.until < now) kept = { until: now + keptMs, reading: read() };
    return await kept.reading;
  };
}

/** Connections of a pool: lent out, idle, and requests that wait for one. */
export function watchPool({ registry }: Metrics, pool: pg.Pool): void {
  new Gauge({
    name: "mintyard_db_pool_connections",
    help: "Connections to PostgreSQL, and who waits for one.",
    labelNames: ["state"],
    registers: [registry],
    collect() {
      this.set({ state: "busy" }, pool.totalCount - pool.idleCount);
      this.set({ state: "idle" }, pool.idleCount);
      this.set({ state: "waiting" }, pool.waitingCount);
    },
  });
}

/** Streams of events to clients, and the events that were read for them. */
export function watchStreams(
  { registry }: Metrics,
  streams: { readonly open: number },
  feed: { readonly counts: { readonly events: number } },
): void {
  new Counter({
    name: "mintyard_stream_events_total",
    help: "Events that this process read, once each however many streams get them.",
    registers: [registry],
    collect() {
      this.reset();
      this.inc(feed.counts.events);
    },
  });
  new Gauge({
    name: "mintyard_open_streams",
    help: "Subscriptions that are open.",
    registers: [registry],
    collect() {
      this.set(streams.open);
    },
  });
}

interface Waiting {
  running: number;
  waiting: number;
}

/** Work of clients that may have to wait in this process. */
export function watchWaiting(
  { registry }: Metrics,
  { heavyReads, uploads }: { heavyReads: () => readonly ReadonlyMap<string, Waiting>[]; uploads: () => Waiting },
): void {
  new Gauge({
    name: "mintyard_heavy_reads",
    help: "Reads that may touch many rows, by plan: under way, and waiting for a connection.",
    labelNames: ["state", "plan"],
    registers: [registry],
    collect() {
      this.reset();
      for (const plan of ["free", "growth", "scale", "enterprise", "none"]) {
        const sum = (state: keyof Waiting) =>
          heavyReads().reduce((total, server) => total + (server.get(plan)?.[state] ?? 0), 0);
        this.set({ state: "running", plan }, sum("running"));
        this.set({ state: "waiting", plan }, sum("waiting"));
      }
    },
  });

  new Gauge({
    name: "mintyard_uploads",
    help: "Uploads under way, and those that wait for another one of their account.",
    labelNames: ["state"],
    registers: [registry],
    collect() {
      const { running, waiting } = uploads();
      this.set({ state: "running" }, running);
      this.set({ state: "waiting" }, waiting);
    },
  });
}

/** Answers of nodes that the indexer's gateway refused, by reason. */
export function watchRefusals({ registry }: Metrics, chain: string, refusals: () => ReadonlyMap<string, number>): void {
  const counter = new Counter({
    name: "mintyard_rpc_refused_answers_total",
    help: "Answers of nodes that were not believed.",
    labelNames: ["chain", "reason"],
    registers: [registry],
    collect() {
      counter.reset();
      for (const [reason, count] of refusals()) counter.inc({ chain, reason }, count);
    },
  });
}

/** What went wrong with endpoints of the chain, by their place in `RPC_URL_<CHAIN>` (without websockets) and by class. */
export function watchFaults(
  { registry }: Metrics,
  chain: string,
  endpoints: () => readonly { faults: ReadonlyMap<string, number> }[],
): void {
  const counter = new Counter({
    name: "mintyard_rpc_faults_total",
    help: "Answers of an endpoint that the indexer could not use.",
    labelNames: ["chain", "endpoint", "class"],
    registers: [registry],
    collect() {
      counter.reset();
      for (const [endpoint, { faults }] of endpoints().entries())
        for (const [kind, count] of faults) counter.inc({ chain, endpoint: String(endpoint), class: kind }, count);
    },
  });
}

interface ReadServers {
  replicas(): { replica: string; reads: number }[];
  fallbacks: number;
}

/** Who answers the reads of this process. */
export function watchReplicas({ registry }: Metrics, pool: ReadServers): void {
  const reads = new Counter({
    name: "mintyard_replica_reads_total",
    help: "Reads of the index that a standby answered.",
    labelNames: ["replica"],
    registers: [registry],
    collect() {
      reads.reset();
      for (const { replica, reads: count } of pool.replicas()) reads.inc({ replica }, count);
    },
  });
  const fallbacks = new Counter({
    name: "mintyard_replica_fallbacks_total",
    help: "Reads that a standby failed and the primary answered.",
    registers: [registry],
    collect() {
      fallbacks.reset();
      fallbacks.inc(pool.fallbacks);
    },
  });
}
