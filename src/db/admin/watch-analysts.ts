import pg from "pg";
import type { Rounds } from "../../rounds.ts";
import type { Logger } from "../../telemetry/log.ts";
import { exportCounter, exportGauge, type Metrics } from "../../telemetry/metrics.ts";
import { endSession, findHinderingAnalysts, fullestQueue, type Hindrance } from "./analyst-sessions.ts";

const roundMs = 10_000;

/**
 * Ends analysts' sessions that hinder the service. PostgreSQL lets a session lift its own time-outs, so none of them
 * is a bound; this one is. Several processes may watch: what one ended the others do not find.
 */
export class AnalystWatch {
  readonly #databaseUrl: string;
  readonly #transactionSeconds: number;
  readonly #log: Logger;
  /** Sessions that may not be ended and were reported; each is reported once. */
  readonly #untouchable = new Set<number>();
  readonly ended = new Map<Hindrance, number>();
  /** Share of the queue of notifications, 0 to 1, at the last look; null before it. */
  queueUsage: number | null = null;

  /** @param databaseUrl the owner's: analysts' logins are granted to that user, which may look at them and end them. */
  constructor(databaseUrl: string, transactionSeconds: number, log: Logger) {
    this.#databaseUrl = databaseUrl;
    this.#transactionSeconds = transactionSeconds;
    this.#log = log;
  }

  /** Looks every ten seconds until the signal; a database that is away is asked again. */
  async run(rounds: Rounds): Promise<void> {
    const round = async () => {
      await this.look();
      return "soon" as const;
    };
    const failing = "the analysts' sessions could not be read";
    await rounds.repeat(round, { periodMs: roundMs }, { log: this.#log, failing });
  }

  /** @throws pg.DatabaseError, and errors of the connection. */
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
      // Asking how full the queue is also drops what is no longer waited for: the next commit finds room.
      if (sessions.some(({ reason }) => reason === "notification_queue"))
        this.queueUsage = (await findHinderingAnalysts(client, this.#transactionSeconds)).queueUsage;
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

/** Shows what the watch did and saw. */
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
