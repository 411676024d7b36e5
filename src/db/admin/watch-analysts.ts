import pg from "pg";
import type { Rounds } from "../../rounds.ts";
import type { Logger } from "../../telemetry/log.ts";
import { exportCounter, exportGauge, type Metrics } from "../../telemetry/metrics.ts";
import { endSession, findHinderingAnalysts, fullestQueue, type Hindrance } from "./analyst-sessions.ts";

const roundMs = 10_000;

/**
 * Ends analysts' sessions that get in the service's way. An analyst can lift a session's own time-outs in PostgreSQL,
 * so only this watch is a real bound. Several processes may watch at once: each ends what the others have left.
 */
export class AnalystWatch {
  readonly #databaseUrl: string;
  readonly #transactionSeconds: number;
  readonly #log: Logger;
  /** Sessions that could not be ended for lack of rights and were reported; each is reported once. */
  readonly #untouchable = new Set<number>();
  readonly ended = new Map<Hindrance, number>();
  /** Share of the notification queue in use at the last look, 0 to 1; null before the first look. */
  queueUsage: number | null = null;

  /** @param databaseUrl the owner's: it is granted the analysts' logins, so it can see and end their sessions. */
  constructor(databaseUrl: string, transactionSeconds: number, log: Logger) {
    this.#databaseUrl = databaseUrl;
    this.#transactionSeconds = transactionSeconds;
    this.#log = log;
  }

  /** Looks every ten seconds until the signal; tries again when the database is away. */
  async run(rounds: Rounds): Promise<void> {
    const round = async () => {
      await this.look();
      return "soon" as const;
    };
    const failing = "the analysts' sessions could not be read";
    await rounds.repeat(round, { periodMs: roundMs }, { log: this.#log, failing });
  }

  /** @throws pg.DatabaseError, and connection errors. */
  async look(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#databaseUrl,
      application_name: "mintyard-analyst-watch",
      connectionTimeoutMillis: 5_000,
      statement_timeout: 10_000,
    });
    client.on("error", () => undefined);
    try {
      await client.connect();
      const { sessions, queueUsage } = await findHinderingAnalysts(client, this.#transactionSeconds);
      this.queueUsage = queueUsage;
      if (queueUsage > fullestQueue)
        this.#log.warn(
          { queueUsage },
          "the server's queue of notifications is not emptied: a session that listens holds it",
        );
      for (const session of sessions) {
        if (await endSession(client, session.pid)) {
          this.ended.set(session.reason, (this.ended.get(session.reason) ?? 0) + 1);
          this.#log.warn({ ...session }, "ended an analyst's session that hindered the service");
        } else if (!this.#untouchable.has(session.pid)) {
          this.#untouchable.add(session.pid);
          this.#log.error(
            { ...session },
            "an analyst's session hinders the service, and this login may not end it: make the analyst's login again with `mintyard analyst create`, or grant pg_signal_backend to the user of DATABASE_URL",
          );
        }
      }
      // Asking how full the queue is also drops entries that nobody waits for, so the next commit has space.
      if (sessions.some(({ reason }) => reason === "notification_queue"))
        this.queueUsage = (await findHinderingAnalysts(client, this.#transactionSeconds)).queueUsage;
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

/** Exports the watch's counters. */
export function watchAnalystSessions({ registry }: Metrics, watch: AnalystWatch): void {
  exportCounter(registry, {
    name: "mintyard_analyst_sessions_ended_total",
    help: "Sessions of analysts that were ended because they hindered the service, by reason.",
    labelNames: ["reason"],
    read: () => [...watch.ended].map(([reason, count]) => [{ reason }, count]),
  });
  exportGauge(registry, {
    name: "mintyard_notification_queue_usage",
    help: "Share of PostgreSQL's queue of notifications that is in use, 0 to 1.",
    read: () => watch.queueUsage ?? [],
  });
}
