import { sql } from "kysely";
import type { Services } from "../services.ts";
import { gaugesOf, type Metrics, readCached } from "../telemetry/metrics.ts";

const keptMs = 10_000;
const queues = ["deployment", "update", "metadata"] as const;

/**
 * Gauges of queue ages, sizes, replication, row-level security and the last backup, read by one statement at most every
 * ten seconds. While the database is away they are absent: missing data must not look healthy.
 */
export function watchService(metrics: Metrics, services: Services): void {
  const gauge = gaugesOf(
    metrics,
    readCached(keptMs, () => readFigures(services)),
  );
  gauge(
    "mintyard_queue_oldest_seconds",
    "Age of the oldest item that waits; 0 while none does.",
    ["queue", "chain"],
    (set, figures) => {
      for (const { name, id } of services.chains)
        for (const queue of queues) set(ageOf(figures, queue, id), { queue, chain: name });
      set(ageOf(figures, "pin", null), { queue: "pin" });
      const { dueSeconds, unmatchedSeconds } = figures.events;
      set(Math.max(dueSeconds ?? 0, unmatchedSeconds ?? 0), { queue: "webhook" });
      set(services.auth.permits.load.oldestSeconds, { queue: "upload" });
    },
  );
  gauge(
    "mintyard_webhooks",
    "Endpoints of webhooks; failing: the last try failed; unverified: the challenge is not answered.",
    ["state"],
    (set, { events }) => {
      for (const state of ["enabled", "failing", "unverified", "paused", "disabled"])
        set(events.webhooks[state] ?? 0, { state });
    },
  );
  gauge("mintyard_stored_bytes", "Uploads and presale lists, by tier.", ["tier"], (set, { stored }) => {
    for (const [tier, bytes] of Object.entries(stored)) set(bytes, { tier });
  });
  gauge("mintyard_database_bytes", "Size of the database.", [], (set, { databaseBytes }) => set(databaseBytes));
  gauge("mintyard_replication_standbys", "Standbys that follow the primary.", [], (set, { standbys }) => set(standbys));
  gauge("mintyard_replication_synchronous", "1 while a commit waits for a standby.", [], (set, { synchronous }) =>
    set(synchronous ? 1 : 0),
  );
  gauge(
    "mintyard_replication_lag_bytes",
    "What a standby has not applied, by its application_name; the login needs pg_monitor to know.",
    ["standby"],
    (set, { lags }) => {
      for (const [standby, bytes] of Object.entries(lags)) set(bytes, { standby: standby.slice(0, 63) });
    },
  );
  gauge(
    "mintyard_backup_age_seconds",
    "Since the last backup; without one, since the database was made.",
    [],
    (set, { backupSeconds }) => set(backupSeconds),
  );
  gauge("mintyard_backup_taken", "1 once this database was backed up.", [], (set, { backedUp }) =>
    set(backedUp ? 1 : 0),
  );
  gauge(
    "mintyard_row_security_unbound_relations",
    "Relations with row-level security that show this process every account's rows; 0 is due for an API process.",
    [],
    (set, { unbound }) => set(unbound.length),
  );
  gauge(
    "mintyard_log_archive_failing",
    "1 while PostgreSQL cannot archive its log: no moment after the last archived one can be restored, and the log fills the disk.",
    [],
    (set, { archiveFails }) => set(archiveFails ? 1 : 0),
  );
}

function ageOf({ queues: all }: ServiceFigures, queue: string, chainId: number | null): number {
  // Several kinds of requests share one queue here.
  return Math.max(
    0,
    ...all.filter((item) => item.queue === queue && item.chain_id === chainId).map(({ seconds }) => seconds),
  );
}

/** The results of `service.figures()` and `service.event_figures()`, and whether policies bind this process. */
export interface ServiceFigures {
  /** Age of the oldest waiting item; without an entry none waits. `chain_id` is null for pins. */
  queues: { queue: "deployment" | "update" | "metadata" | "pin"; chain_id: number | null; seconds: number }[];
  /** Bytes of uploads and presale lists, by account tier. */
  stored: Record<string, number>;
  databaseBytes: number;
  standbys: number;
  /** Whether a commit waits for a standby. */
  synchronous: boolean;
  /** Bytes that a standby has not applied, by its application_name; none if the login may not know. */
  lags: Record<string, number>;
  /** Seconds since the moment the last backup covers; without a backup, since the database was created. */
  backupSeconds: number;
  backedUp: boolean;
  events: {
    /** Endpoints by state; `failing`: the last try failed. */
    webhooks: Record<string, number>;
    /** How long due messages have waited, for endpoints that answer; null: nothing is due. */
    dueSeconds: number | null;
    /** Age of the oldest event not yet matched with endpoints. */
    unmatchedSeconds: number | null;
  };
  /** Relations whose policies do not bind this process: it sees every account's rows in them. */
  unbound: string[];
  /** PostgreSQL's log archiving is on, but has no command or its last try failed. A try that hangs is not seen. */
  archiveFails: boolean;
}

/**
 * Reads the figures by one statement, under this process's role.
 *
 * @returns null while the database does not answer.
 */
export async function readFigures({ db }: Pick<Services, "db">): Promise<ServiceFigures | null> {
  const asked = sql<{
    figures: Omit<ServiceFigures, "unbound" | "events" | "archiveFails">;
    events: ServiceFigures["events"];
    unbound: string[];
    archiveFails: boolean;
  }>`
    SELECT service.figures() AS figures, service.event_figures() AS events, service.unbound_relations() AS unbound,
      current_setting('archive_mode') <> 'off' AND (
        current_setting('archive_command') = '' AND current_setting('archive_library') = ''
        OR EXISTS (SELECT FROM pg_stat_archiver WHERE last_failed_time > coalesce(last_archived_time, '-infinity'))
      ) AS "archiveFails"`.execute(db);
  return await asked.then(
    ({ rows: [row] }) => {
      if (!row) return null;
      const { figures, ...others } = row;
      return { ...figures, ...others };
    },
    () => null,
  );
}
