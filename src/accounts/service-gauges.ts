import { sql } from "kysely";
import type { Services } from "../services.ts";
import { gaugesOf, type Metrics, readCached } from "../telemetry/metrics.ts";

const keptMs = 10_000;
const queues = ["deployment", "update", "metadata"] as const;

/**
 * Ages of queues, sizes, replication, row-level security and the last backup, by one statement every ten seconds at
 * most. While the database is away there are none: nothing known is no reason to say that all is well.
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
  // Several kinds of requests are one queue here.
  return Math.max(
    0,
    ...all.filter((item) => item.queue === queue && item.chain_id === chainId).map(({ seconds }) => seconds),
  );
}

/** What `service.figures()` and `service.event_figures()` give, and whether policies bind this process. */
export interface ServiceFigures {
  /** Age of the oldest item that waits; none waits where there is no entry. `chain_id` is null for pins. */
  queues: { queue: "deployment" | "update" | "metadata" | "pin"; chain_id: number | null; seconds: number }[];
  /** Bytes of uploads and presale lists, by tier of their accounts. */
  stored: Record<string, number>;
  databaseBytes: number;
  standbys: number;
  /** A commit waits for a standby. */
  synchronous: boolean;
  /** Bytes that a standby has not applied, by its application_name; none where the login may not know. */
  lags: Record<string, number>;
  /** Since the moment that the last backup shows; without one, since the database was made. */
  backupSeconds: number;
  backedUp: boolean;
  events: {
    /** Endpoints by state; `failing` are those whose last try failed. */
    webhooks: Record<string, number>;
    /** How long what is due has waited, of endpoints that answer; null: nothing is due. */
    dueSeconds: number | null;
    /** Age of the oldest event that was not compared with endpoints yet. */
    unmatchedSeconds: number | null;
  };
  /** Relations with policies that show this process the rows of every account. */
  unbound: string[];
  /** The last try of PostgreSQL to archive a part of its log failed; false where it archives none. */
  archiveFails: boolean;
}

/**
 * Reads them by one statement, under the role of this process.
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
      current_setting('archive_mode') <> 'off' AND EXISTS (SELECT FROM pg_stat_archiver
        WHERE last_failed_time > coalesce(last_archived_time, '-infinity')) AS "archiveFails"`.execute(db);
  return await asked.then(
    ({ rows: [row] }) => {
      if (!row) return null;
      const { figures, ...others } = row;
      return { ...figures, ...others };
    },
    () => null,
  );
}
